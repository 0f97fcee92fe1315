package import LoadingStorage

/// Where the service of a user is: its socket, and its files.
///
/// The folders are accessible only to the user. They are checked like those of all stores: another user must not be
/// able to replace anything on the way to them, and they must not be symbolic links.
package struct ServicePlace: Sendable, Hashable {
    /// With the journal.
    package let state: StorageDirectory
    /// With the socket. The same folder where there is no folder for the time of the login.
    package let runtime: StorageDirectory

    package static let folderName = "swift-url-loading"

    package init(state: StorageDirectory, runtime: StorageDirectory) {
        self.state = state
        self.runtime = runtime
    }

    /// The place of the user (XDG Base Directory Specification).
    ///
    /// - Parameter environment: Returns the value of an environment variable.
    package init(environment: (String) -> String? = StorageDirectory.variable) {
        if let state = environment(Self.stateVariable), let runtime = environment(Self.runtimeVariable) {
            self.init(state: StorageDirectory(path: state), runtime: StorageDirectory(path: runtime))
        } else {
            let state = StorageDirectory(.state, application: Self.folderName, environment: environment).folder(
                "background")
            let login = StorageDirectory.userRuntime(environment: environment)
            self.init(state: state, runtime: login?.folder(Self.folderName) ?? state)
        }
    }

    /// The variables with the place of a service, so that it is the place of its starter.
    static let stateVariable = "URLSESSIOND_STATE"
    static let runtimeVariable = "URLSESSIOND_RUNTIME"

    /// Bodies of responses: parts and complete ones.
    package var files: StorageDirectory { state.folder("files") }
    /// Private copies of uploads.
    package var uploads: StorageDirectory { state.folder("uploads") }
    /// Commands of programs that may not be in the journal yet.
    package var spool: StorageDirectory { state.folder("spool") }

    package var folders: ServiceFolders {
        ServiceFolders(files: files.path, uploads: uploads.path, spool: spool.path)
    }

    package var socketPath: String { runtime.path + "/urlsessiond.socket" }
    /// Held while a process starts or ends the service.
    package var lockPath: String { runtime.path + "/urlsessiond.lock" }
    /// Held by the service as long as it runs. Contains the path of its socket.
    package var ownerPath: String { state.path + "/owner" }

    /// Creates the folders that do not exist. Throws if another user could change something in one.
    package func make() throws(StorageFailure) {
        for folder in [runtime, state, files, uploads, spool] { _ = try folder.makePrivate() }
    }
}
