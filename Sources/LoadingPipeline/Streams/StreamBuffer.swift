internal import FoundationEssentials

/// Received bytes that wait to be consumed, in order.
struct StreamBuffer {
    /// The first `head` of them are consumed.
    private(set) var bytes: [UInt8]
    private var head = 0

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int { bytes.count - head }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        // Most of the storage is consumed: the remaining bytes move to the front.
        if head > 0, head >= count {
            bytes.removeFirst(head)
            head = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Moves the first bytes into `buffer`, and returns their number.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let taken = min(buffer.count, count)
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[head..<head + taken])) }
        drop(taken)
        return taken
    }

    /// The first `wanted` bytes, or as many as there are.
    mutating func take(_ wanted: Int) -> Data {
        let taken = min(wanted, count)
        defer { drop(taken) }
        return Data(bytes[head..<head + taken])
    }

    private mutating func drop(_ count: Int) {
        head += count
        if head == bytes.count { removeAll() }
    }

    mutating func removeAll() { self = StreamBuffer() }
}
