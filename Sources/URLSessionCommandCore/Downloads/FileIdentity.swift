/// Which file it is, whatever its name.
struct FileIdentity: Codable, Equatable {
    var device: UInt64
    var inode: UInt64
    var size: Int64
}
