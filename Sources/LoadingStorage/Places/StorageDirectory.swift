internal import CLoadingLinux
internal import Glibc

/// The folder of a store's files, accessible only to this user (C-36).
///
/// Creating a value does not access the disk. If no location can be determined, for example without a home directory,
/// `make` throws.
package struct StorageDirectory: Sendable, Hashable {
    /// The purpose, which determines the location (XDG Base Directory Specification).
    package enum Kind: Sendable {
        /// Data that can be loaded again.
        case cache
        case data
        /// State that outlives a process, but is specific to the machine.
        case state

        fileprivate var variable: String {
            switch self {
            case .cache: "XDG_CACHE_HOME"
            case .data: "XDG_DATA_HOME"
            case .state: "XDG_STATE_HOME"
            }
        }

        fileprivate var folderOfHome: String {
            switch self {
            case .cache: "/.cache"
            case .data: "/.local/share"
            case .state: "/.local/state"
            }
        }
    }

    /// No `Result`, whose type the runtime would find only by a search of all conformances to `Error`.
    private enum Location: Sendable, Hashable {
        case known(String)
        case unknown(StorageFailure)
    }

    private let location: Location
    /// Whether the caller controls the permissions.
    private let isCallerProvided: Bool

    /// A folder of the caller's choice.
    package init(path: String) {
        // A path that C would truncate at NUL is invalid.
        let isPath = !path.isEmpty && !path.utf8.contains(0)
        location = isPath ? .known(path) : .unknown(StorageFailure(.locate, "", .system(ENOENT)))
        isCallerProvided = true
    }

    /// The folder of an application.
    ///
    /// - Parameters:
    ///   - application: The name of the application; any text.
    ///   - environment: Returns the value of an environment variable.
    package init(_ kind: Kind, application: String, environment: (String) -> String? = Self.variable) {
        self.init(kind, name: Self.fileName(application), environment)
    }

    /// The folder of an application group, distinct from that of any application.
    package init(_ kind: Kind, group: String, environment: (String) -> String? = Self.variable) {
        self.init(kind, name: "%group-" + Self.fileName(group), environment)
    }

    private init(_ kind: Kind, name: String, _ environment: (String) -> String?) {
        // Relative paths must be ignored (XDG).
        if let base = environment(kind.variable), base.hasPrefix("/") {
            location = .known(base + "/" + name)
        } else if let home = environment("HOME"), home.hasPrefix("/") {
            location = .known(home + kind.folderOfHome + "/" + name)
        } else if let home = Self.homeOfUser() {
            location = .known(home + kind.folderOfHome + "/" + name)
        } else {
            location = .unknown(StorageFailure(.locate, "~" + kind.folderOfHome + "/" + name, .system(ENOENT)))
        }
        isCallerProvided = false
    }

    private init(location: Location, isCallerProvided: Bool) {
        self.location = location
        self.isCallerProvided = isCallerProvided
    }

    /// The path, which may not exist.
    package var path: String {
        switch location {
        case .known(let path): path
        case .unknown(let failure): failure.path
        }
    }

    /// The folder that exists while the user is logged in; nil if there is none. A process without its variable, for
    /// example one of cron, finds the folder that systemd makes.
    package static func userRuntime(
        environment: (String) -> String? = Self.variable, folderOfUsers: String = "/run/user"
    ) -> StorageDirectory? {
        if let path = environment("XDG_RUNTIME_DIR"), path.hasPrefix("/") { return StorageDirectory(path: path) }
        let path = folderOfUsers + "/\(geteuid())"
        guard let handle = try? PathHandle(path), handle.isFolder, handle.isOwnedByUser, handle.mode & 0o077 == 0 else {
            return nil
        }
        return StorageDirectory(path: path)
    }

    package func folder(_ name: String) -> StorageDirectory {
        var location = location
        if case .known(let path) = location { location = .known(path + "/" + name) }
        return StorageDirectory(location: location, isCallerProvided: false)
    }

    /// False if there is certainly no such file. Costs one system call.
    package func mayHold(_ schema: DatabaseSchema) -> Bool {
        guard case .known(let path) = location else { return false }
        return access(path + "/" + schema.name, F_OK) == 0 || cll_errno() != ENOENT
    }

    /// Creates the folder and its parents if necessary. Returns the path without symbolic links. Throws if another user
    /// than root can replace files in it.
    package func make() throws(StorageFailure) -> String { try make(isPrivate: false) }

    /// The same. Other users cannot list the folder either.
    package func makePrivate() throws(StorageFailure) -> String { try make(isPrivate: true) }

    private func make(isPrivate: Bool) throws(StorageFailure) -> String {
        let path: String
        switch location {
        case .known(let known): path = Self.trimmed(known)
        case .unknown(let failure): throw failure
        }
        try Self.makeFolders(above: path)
        if mkdir(path, 0o700) != 0, cll_errno() != EEXIST {
            let code = cll_errno()
            // A read-only file system reports EROFS even for existing folders.
            guard code == EROFS || code == EACCES, access(path, F_OK) == 0 else {
                throw StorageFailure(.make, path, .system(code))
            }
        }
        let handle = try PathHandle(path)
        guard handle.isFolder else { throw StorageFailure(.open, path, .system(ENOTDIR)) }
        // Other users must not be able to write here, because they could replace files. They may list the folder if its
        // permissions allow it; the files themselves are private.
        if isPrivate, handle.isOwnedByUser, handle.mode & 0o077 != 0 {
            handle.setMode(0o700)
        } else if !isCallerProvided, handle.isOwnedByUser, handle.mode & 0o022 != 0 {
            handle.setMode(handle.mode & 0o7755)
        }
        guard let real = realpath(path, nil) else { throw StorageFailure(.open, path, .system(cll_errno())) }
        defer { free(real) }
        let found = String(cString: real)
        try Self.checkFolders(to: found)
        return found
    }

    /// The owner of a folder, and everyone who can write to it, can rename its entries, including folders. So all
    /// folders up to the root are checked.
    private static func checkFolders(to path: String) throws(StorageFailure) {
        guard try PathHandle(path).isTrustedStore else { throw StorageFailure(.open, path, .untrusted) }
        var path = Substring(path)
        while true {
            let folder = path.isEmpty ? "/" : String(path)
            guard try PathHandle(folder).isTrustedFolder else { throw StorageFailure(.open, folder, .untrusted) }
            guard let end = path.lastIndex(of: "/") else { return }
            path = path[..<end]
        }
    }

    /// Whether only the user and root can replace or change the program.
    package static func isTrustedProgram(_ path: String) -> Bool {
        guard let real = realpath(path, nil) else { return false }
        defer { free(real) }
        let found = String(cString: real)
        guard let handle = try? PathHandle(found), handle.isTrustedProgram, access(found, X_OK) == 0,
            let slash = found.lastIndex(of: "/")
        else { return false }
        return (try? checkFolders(to: slash == found.startIndex ? "/" : String(found[..<slash]))) != nil
    }

    /// Creates an empty file with mode 0600 if there is none. An existing file gets that mode.
    ///
    /// The file is not opened, because closing it would release the locks of this process on it.
    static func claimFile(_ path: String) throws(StorageFailure) {
        if mknod(path, S_IFREG | 0o600, 0) == 0 { return }
        let code = cll_errno()
        guard let handle = try? PathHandle(path) else { throw StorageFailure(.make, path, .system(code)) }
        guard handle.isFile, handle.isOwnedByUser else { throw StorageFailure(.open, path, .foreign) }
        if handle.mode & 0o077 != 0 { handle.setMode(0o600) }
    }

    /// Restricts the mode of one of SQLite's side files, if it exists. Removes it if it is not a regular file, or was
    /// created by another user while the folder was writable.
    static func claimSideFile(_ path: String) throws(StorageFailure) {
        guard let handle = try? PathHandle(path) else { return }
        if handle.isFile, handle.isOwnedByUser {
            if handle.mode & 0o077 != 0 { handle.setMode(0o600) }
            return
        }
        guard unlink(path) == 0 || rmdir(path) == 0 || cll_errno() == ENOENT else {
            throw StorageFailure(.open, path, .untrusted)
        }
    }

    // MARK: Names and locations

    /// Injective, and always a valid file name.
    package static func fileName(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var name: [UInt8] = []
        for (index, byte) in text.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.append(byte)
            case UInt8(ascii: ".") where index > 0:
                name.append(byte)
            default:
                name += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        if name.isEmpty { return "%" }
        // File systems allow names of 255 bytes.
        if name.count > 200 {
            let rest = Checksum.of(bytes: name)
            name.removeSubrange(180...)
            name += "%-\(UInt64(bitPattern: rest))".utf8
        }
        return String(decoding: name, as: UTF8.self)
    }

    package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static func homeOfUser() -> String? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var text = [CChar](repeating: 0, count: 16384)
        return text.withUnsafeMutableBufferPointer { text in
            guard let buffer = text.baseAddress, getpwuid_r(geteuid(), &record, buffer, text.count, &found) == 0,
                let home = found?.pointee.pw_dir.map({ String(cString: $0) }), home.hasPrefix("/")
            else { return nil }
            return home
        }
    }

    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    private static func makeFolders(above path: String) throws(StorageFailure) {
        let parts = path.split(separator: "/").dropLast()
        var parent = path.hasPrefix("/") ? "" : "."
        for part in parts {
            parent += "/" + part
            if access(parent, F_OK) == 0 { continue }
            if mkdir(parent, 0o700) != 0, cll_errno() != EEXIST {
                throw StorageFailure(.make, parent, .system(cll_errno()))
            }
        }
    }
}
