/// Collects the bytes of many frames, so that a hundred small requests are one write.
final class HTTP2Output {
    /// A DATA frame that fills a TLS record: a larger one would have its last bytes in a record of their own, each of
    /// which is a call of the kernel's.
    private static let bodyFrame = 16_384
    private static let capacity = 4 * bodyFrame

    private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private(set) var count = 0

    deinit { room.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: room[..<count]) }

    /// Empties the buffer, and allocates it if needed.
    func begin() {
        count = 0
        if room.isEmpty { room = .allocate(byteCount: Self.capacity, alignment: 16) }
    }

    /// Frees the buffer.
    func release() {
        room.deallocate()
        room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        count = 0
    }

    var hasRoomForFrame: Bool { room.count &- count >= Self.bodyFrame }

    func append(_ octets: UnsafeRawBufferPointer) {
        if octets.count > room.count &- count {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: count &+ octets.count, alignment: 16)
            larger.copyMemory(from: bytes)
            room.deallocate()
            room = larger
        }
        UnsafeMutableRawBufferPointer(rebasing: room[count...]).copyMemory(from: octets)
        count &+= octets.count
    }

    /// The place for the content of a DATA frame, before its head is known.
    func bodyRoom(atMost capacity: Int) -> UnsafeMutableRawBufferPointer {
        let start = min(count &+ HTTP2FrameHead.length, room.count)
        let most = min(max(capacity, 0), Self.bodyFrame - HTTP2FrameHead.length)
        return UnsafeMutableRawBufferPointer(rebasing: room[start..<min(start &+ most, room.count)])
    }

    /// Puts the head before what was written into `bodyRoom`.
    func appendBodyFrame(head: UnsafeRawBufferPointer, contentCount: Int) {
        append(head)
        count = min(count &+ contentCount, room.count)
    }
}
