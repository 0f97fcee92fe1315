internal import LoadingStorage

extension StorageDirectory {
    /// The program's cache directory, for data that can be loaded again.
    static let applicationCache = StorageDirectory(.cache, application: Program.identifier)
    /// The program's data directory, for cookies, credentials and so on.
    static let applicationData = StorageDirectory(.data, application: Program.identifier)

    /// The data directory of a group of programs.
    static func group(_ identifier: String) -> StorageDirectory {
        StorageDirectory(.data, group: identifier)
    }
}
