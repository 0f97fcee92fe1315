/// What is about to come.
package struct FTPTransfer: Sendable, Equatable {
    /// Of the whole; nil if unknown.
    package var size: Int64?
    package var modificationTime: String?
    /// Where in the whole the transfer begins.
    package var offset: Int64

    package init(size: Int64?, modificationTime: String?, offset: Int64) {
        self.size = size
        self.modificationTime = modificationTime
        self.offset = offset
    }
}
