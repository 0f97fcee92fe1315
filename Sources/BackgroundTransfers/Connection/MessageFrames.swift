package import FoundationEssentials

/// Splits a stream of bytes into frames: a little-endian `UInt32` with the length of the content, then the content.
///
/// The length is the peer's claim, so nothing is allocated for it: the buffer grows with the bytes that arrive, up to
/// the limit.
package struct MessageFrames {
    package enum Failure: Error, Equatable {
        /// The frame is longer than the limit.
        case tooLong
    }

    /// The limit for the content of one frame.
    private let limit: Int
    private var bytes: [UInt8] = []
    /// The index of the first byte that does not belong to a frame returned so far.
    private var start = 0

    package static let headLength = 4
    /// A larger buffer is released when it is empty.
    private static let largestKept = 64 << 10

    package init(limit: Int = ServiceProtocol.largestMessage) { self.limit = limit }

    /// The number of bytes of incomplete frames.
    package var incompleteBytes: Int { bytes.count - start }

    package mutating func append(_ new: UnsafeRawBufferPointer) {
        // Once per call, not once per frame: a frame is moved at most twice, whatever the sizes.
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// The content of the next frame; nil if it is incomplete. After an error, no frame can be found any more.
    package mutating func next() throws(Failure) -> Data? {
        guard incompleteBytes >= Self.headLength else { return nil }
        let length = (0..<Self.headLength).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
        guard length <= limit else { throw .tooLong }
        let (begin, end) = (start + Self.headLength, start + Self.headLength + length)
        guard end <= bytes.count else { return nil }
        let content = bytes.withUnsafeBytes { Data($0[begin..<end]) }
        start = end
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.largestKept)
            start = 0
        }
        return content
    }

    /// Appends a frame with that content.
    package static func append(_ content: Data, to stream: inout Data) {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: content.count).littleEndian) { stream.append(contentsOf: $0) }
        stream.append(content)
    }
}
