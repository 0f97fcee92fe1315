/// By what a file is known to be the same as before.
package struct FileFacts: Sendable, Equatable {
    package var length: Int64
    /// When it was last written to, in nanoseconds since 1970.
    package var modified: Int64

    package init(length: Int64, modified: Int64) {
        self.length = length
        self.modified = modified
    }
}
