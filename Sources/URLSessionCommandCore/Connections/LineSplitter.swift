/// Splits bytes into lines, without their line feeds.
package struct LineSplitter: Sendable {
    private var bytes: [UInt8] = []
    /// Where the next line begins, and how far line feeds have been looked for.
    private var start = 0
    private var searched = 0

    package init() {}

    /// The number of bytes that are in no line yet.
    package var pendingCount: Int { bytes.count - start }

    package mutating func add(_ new: some Sequence<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            searched -= start
            start = 0
        }
        bytes += new
    }

    /// The next complete line; nil if there is none.
    package mutating func next() -> [UInt8]? {
        guard let end = bytes[searched...].firstIndex(of: 10) else {
            searched = bytes.count
            return nil
        }
        defer {
            start = end + 1
            searched = start
        }
        return Array(bytes[start..<end])
    }

    /// What follows the last line feed; nil if nothing does.
    package mutating func finish() -> [UInt8]? {
        defer { self = LineSplitter() }
        return start < bytes.count ? Array(bytes[start...]) : nil
    }
}
