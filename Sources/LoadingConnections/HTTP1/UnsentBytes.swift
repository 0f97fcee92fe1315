internal import FoundationEssentials
internal import LoadingProtocols

/// Bytes of a request that wait for the socket: its head, a small body behind the head, or a chunk. Counts the bytes of
/// head, body and framing separately.
struct UnsentBytes {
    /// The bytes that the kernel took.
    struct Sent: Equatable {
        var head = 0
        var body = 0
        var framing = 0
    }

    private var bytes: [UInt8] = []
    private var start = 0
    private var headCount = 0
    /// The range of a chunk's data; the bytes around it are framing. Nil if there is no framing.
    private var chunk: Range<Int>?

    /// A buffer with more bytes than this is freed when all bytes are sent.
    private static let keptCapacity = 64 * 1024

    var isEmpty: Bool { start == bytes.count }

    /// Begins a request with a head of `count` bytes. The caller writes the head to the socket and keeps the rest here.
    mutating func begin(head count: Int) {
        clear()
        headCount = count
    }

    /// Keeps the bytes that the socket did not take.
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
        HTTP1RequestEncoder.appendLastChunk(to: &bytes)
    }

    func withUnsent<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Removes `count` bytes that the kernel took.
    mutating func removeSent(_ count: Int) -> Sent {
        let range = start..<(start + count)
        start = range.upperBound
        // The rest of a head is never kept together with a chunk.
        let framing = headCount == 0 ? chunk.map { count - range.clamped(to: $0).count } ?? 0 : 0
        if isEmpty {
            if bytes.count > Self.keptCapacity { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
            start = 0
            chunk = nil
        }
        return sent(count, framing: framing)
    }

    /// Classifies the next `count` sent bytes.
    mutating func sent(_ count: Int, framing: Int = 0) -> Sent {
        let head = min(count, headCount)
        headCount -= head
        return Sent(head: head, body: count - head - framing, framing: framing)
    }

    /// Whether a part of the head is unsent.
    var hasHead: Bool { headCount > 0 }

    mutating func clear() {
        bytes = []
        start = 0
        headCount = 0
        chunk = nil
    }
}
