/// Fills room that was measured beforehand: one growth of the buffer for a whole head.
struct OctetWriter {
    private let room: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    /// Grows `bytes` by what `write` writes, at most `bound` octets. On an error `bytes` stays as it was.
    ///
    /// Written elsewhere first: to fill an array with zeros takes longer than to copy a head, and in debug builds as
    /// long as all the rest of a request.
    @inline(__always)
    static func append<Failure: Error>(
        to bytes: inout [UInt8], atMost bound: Int,
        _ write: (inout OctetWriter) throws(Failure) -> Void
    ) throws(Failure) {
        var failure: Failure?
        withUnsafeTemporaryAllocation(byteCount: bound, alignment: 1) { room in
            var writer = OctetWriter(room: room)
            do throws(Failure) {
                try write(&writer)
                bytes.append(contentsOf: writer.written(from: 0).bindMemory(to: UInt8.self))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private init(room: UnsafeMutableRawBufferPointer) {
        self.room = room
    }

    /// What has been written from `start` on.
    func written(from start: Int) -> UnsafeRawBufferPointer {
        let start = min(start, count)
        return UnsafeRawBufferPointer(room).part(from: start, count: count &- start)
    }

    @inline(__always)
    mutating func append(_ octets: UnsafeRawBufferPointer) {
        // The measure has made room for all; were it wrong, octets would be missing and no memory harmed.
        guard octets.count <= room.count &- count, let target = room.baseAddress, let source = octets.baseAddress else {
            return
        }
        target.advanced(by: count).copyMemory(from: source, byteCount: octets.count)
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
