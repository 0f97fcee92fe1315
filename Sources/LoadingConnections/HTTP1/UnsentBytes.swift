internal import FoundationEssentials
internal import LoadingProtocols

/// Bytes of a request that are on their way to the socket: its head, perhaps a small body behind it, or a chunk. Keeps
/// apart what of them is head, body and framing.
struct UnsentBytes {
    /// What the kernel took.
    struct Sent: Equatable {
        var head = 0
        var body = 0
        /// What frames a chunk.
        var framing = 0
    }

    private var bytes: [UInt8] = []
    private var start = 0
    private var headCount = 0
    /// Where the data of a chunk lies; what is around it is framing. Nil: there is no framing.
    private var chunk: Range<Int>?

    /// Memory beyond this is given back when all is sent.
    private static let keptCapacity = 64 * 1024

    var isEmpty: Bool { start == bytes.count }

    /// Begins a request with so many bytes of head, which the caller sends himself as far as the socket takes them.
    mutating func begin(head count: Int) {
        clear()
        headCount = count
    }

    /// Keeps what the socket did not take.
    mutating func keep(_ rest: ArraySlice<UInt8>) {
        bytes = Array(rest)
        start = 0
    }

    mutating func append(chunk data: Data) {
        HTTP1RequestEncoder.appendChunkHead(data.count, to: &bytes)
        chunk = bytes.count..<(bytes.count + data.count)
        bytes.append(contentsOf: data)
        if !data.isEmpty { HTTP1RequestEncoder.appendChunkEnd(to: &bytes) }
    }

    mutating func appendLastChunk() {
        chunk = bytes.count..<bytes.count
        // Without trailers there is nothing in it that could be refused.
        try? HTTP1RequestEncoder.appendLastChunk(to: &bytes)
    }

    func withUnsent<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// The kernel took so many of the bytes that are kept.
    mutating func took(_ count: Int) -> Sent {
        let range = start..<(start + count)
        start = range.upperBound
        // What is left of a head is never together with a chunk.
        let framing = headCount == 0 ? chunk.map { count - range.clamped(to: $0).count } ?? 0 : 0
        if isEmpty {
            if bytes.count > Self.keptCapacity { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
            start = 0
            chunk = nil
        }
        return sent(count, framing: framing)
    }

    /// What these bytes are, the first that are sent.
    mutating func sent(_ count: Int, framing: Int = 0) -> Sent {
        let head = min(count, headCount)
        headCount -= head
        return Sent(head: head, body: count - head - framing, framing: framing)
    }

    /// Whether some of the head is still to be sent.
    var hasHead: Bool { headCount > 0 }

    mutating func clear() {
        bytes = []
        start = 0
        headCount = 0
        chunk = nil
    }
}
