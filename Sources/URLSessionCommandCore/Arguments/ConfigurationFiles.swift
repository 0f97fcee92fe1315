package import Foundation

/// Reads the files that the command line names, and compares their names.
package struct ConfigurationFiles: Sendable {
    /// The file that is read without being named; nil for none.
    package var defaultPath: String?
    private var contents: @Sendable (String) throws(FileError) -> Data
    private var identities: @Sendable (String) -> String

    /// - Parameter identities: Equal for two names of one file.
    package init(
        defaultPath: String?, identities: @escaping @Sendable (String) -> String = { $0 },
        contents: @escaping @Sendable (String) throws(FileError) -> Data
    ) {
        self.defaultPath = defaultPath
        self.identities = identities
        self.contents = contents
    }

    /// Equal for two names of one file. Nil for devices, which outputs may share.
    func identity(of path: String) -> String? { path.hasPrefix("/dev/") ? nil : identities(path) }

    /// Files that are not there.
    package static let none = ConfigurationFiles(defaultPath: nil) { path throws(FileError) in
        throw FileError(path: path, code: ENOENT)
    }

    /// Those of the user. The default file is `urlsession/config` in `$XDG_CONFIG_HOME`, or in `~/.config`.
    package static func ofUser(_ environment: [String: String]) -> ConfigurationFiles {
        let folder = UserFolders.configuration(environment)
        return ConfigurationFiles(
            defaultPath: folder.map { $0 + "/config" }, identities: { OutputPath.identity(of: $0) },
            contents: { path throws(FileError) in try FileContents.readAll(path) })
    }

    /// The text of a file; `-` is standard input.
    func read(_ path: String) throws(UsageError) -> String {
        do throws(FileError) {
            return String(decoding: try contents(path == "-" ? FileContents.standardInput : path), as: UTF8.self)
        } catch {
            throw UsageError("cannot read '\(path)': \(error.reason)", exitCode: .readError)
        }
    }

    /// Nil if there is no such file.
    func readDefault(_ path: String) throws(UsageError) -> String? {
        do throws(FileError) {
            return String(decoding: try contents(path), as: UTF8.self)
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return nil }
            throw UsageError("cannot read '\(path)': \(error.reason)", exitCode: .readError)
        }
    }
}

/// The user's folders for this program.
package enum UserFolders {
    /// `urlsession` in `$XDG_CONFIG_HOME`, or in `~/.config`; nil without a home.
    package static func configuration(_ environment: [String: String]) -> String? {
        // A relative path is invalid, and ignored.
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return folder + "/urlsession" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.config/urlsession"
    }
}
