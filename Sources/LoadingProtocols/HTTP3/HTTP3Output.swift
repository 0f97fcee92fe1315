/// Datagrams that go to the peer next, one behind the other, there until the session is asked for the next.
package struct HTTP3Output {
    package var bytes: UnsafeRawBufferPointer
    /// The length of each of them but the last, which may be shorter.
    package var segmentSize: Int
    /// The mark for the two bits of explicit congestion notification.
    package var ecn: UInt8
}
