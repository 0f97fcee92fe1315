/// What to retrieve from a server.
package struct FTPRequest: Sendable, Equatable {
    package enum Form: Sendable, Equatable {
        /// A file, byte for byte.
        case file
        /// A file as text.
        case text
        /// What is in a directory, for people.
        case listing
        /// The names alone.
        case names
    }

    /// Where an interrupted transfer continues. `size` and `modificationTime` are those of that transfer.
    package struct Beginning: Sendable, Equatable {
        package var count: Int64
        package var size: Int64
        package var modificationTime: String

        package init(count: Int64, size: Int64, modificationTime: String) {
            self.count = count
            self.size = size
            self.modificationTime = modificationTime
        }
    }

    package var directories: [[UInt8]]
    /// Of the file; not used for directories.
    package var name: [UInt8]
    package var form: Form
    /// Whether it matters when the file was changed.
    package var wantsModificationTime = false
    package var beginning: Beginning?

    package init(directories: [[UInt8]], name: [UInt8], form: Form) {
        self.directories = directories
        self.name = name
        self.form = form
    }
}

/// User name and password.
package struct FTPLogin: Sendable, Equatable {
    package var user: String
    /// Nil if none is known. A server that requires one then refuses the user.
    package var password: String?

    package init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// RFC 1635. Nearly every server takes any password; those that compare it know this one.
    package static let anonymous = FTPLogin(user: "anonymous", password: "anonymous")
}
