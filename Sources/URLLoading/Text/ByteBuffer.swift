/// The bytes of a scanner that it has not looked at yet.
struct ByteBuffer: Sendable {
    private(set) var bytes: [UInt8] = []
    var offset = 0

    mutating func refill(_ bytes: [UInt8]) {
        self.bytes = bytes
        offset = 0
    }

    mutating func refill(_ byte: UInt8) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(byte)
        offset = 0
    }
}
