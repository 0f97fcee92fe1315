package import FoundationEssentials

/// Received bytes that wait to be consumed, in order.
package struct StreamBuffer {
    private var bytes: [UInt8]
    private var head = 0

    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    package var count: Int { bytes.count - head }

    package mutating func append(_ new: UnsafeRawBufferPointer) {
        // Most of the storage is consumed: the remaining bytes move to the front.
        if head > 0, head >= count {
            bytes.removeFirst(head)
            head = 0
        }
        bytes.append(contentsOf: new)
    }

    /// The first `wanted` bytes, or as many as there are.
    package mutating func take(_ wanted: Int) -> Data {
        let taken = min(wanted, count)
        defer {
            head += taken
            if head == bytes.count {
                bytes = []
                head = 0
            }
        }
        return Data(bytes[head..<head + taken])
    }

    package mutating func removeAll() { self = StreamBuffer() }
}
