/// Fills room that was measured beforehand: one growth of the buffer for a whole head.
struct OctetWriter {
    private let room: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    /// Grows `bytes` by what `write` writes, at most `bound` octets. On an error `bytes` stays as it was.
    @inline(__always)
    static func append<Failure: Error>(
        to bytes: inout [UInt8], atMost bound: Int,
        _ write: (inout OctetWriter) throws(Failure) -> Void
    ) throws(Failure) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: bound))
        var written = 0
        defer { bytes.removeLast(bytes.count &- start &- written) }
        written = try bytes.withUnsafeMutableBufferPointer { octets throws(Failure) in
            var writer = OctetWriter(
                room: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: octets[start...])))
            try write(&writer)
            return writer.count
        }
    }

    private init(room: UnsafeMutableRawBufferPointer) {
        self.room = room
    }

    /// What has been written from `start` on.
    func written(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: room[min(start, count)..<count])
    }

    @inline(__always)
    mutating func append(_ octets: UnsafeRawBufferPointer) {
        // The measure has made room for all; were it wrong, octets would be missing and no memory harmed.
        guard octets.count <= room.count &- count else { return }
        UnsafeMutableRawBufferPointer(rebasing: room[count...]).copyMemory(from: octets)
        count &+= octets.count
    }

    /// Literals. Without the label of the method below, they would become a `String` first.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }
}
