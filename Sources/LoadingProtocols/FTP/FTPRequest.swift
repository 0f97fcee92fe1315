/// What is wanted of a server.
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

    /// What is left of an earlier transfer, of which `size` and `modificationTime` were told.
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
