internal import LoadingStorage

extension StorageDirectory {
    /// Where this program keeps what can be had again, such as cached responses.
    static let applicationCache = StorageDirectory(.cache, application: Program.identifier)
    /// Where it keeps cookies, passwords and the like.
    static let applicationData = StorageDirectory(.data, application: Program.identifier)

    /// Where the programs of a group keep what they share.
    static func group(_ identifier: String) -> StorageDirectory {
        StorageDirectory(.data, group: identifier)
    }
}
