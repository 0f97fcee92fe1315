/// How much a peer may have this side do for nothing.
///
/// Each datagram uses it up, and so do frames that are no content; requests, bodies and answers fill it again. So a
/// connection may live for as long as it is of use, and one that is of none ends after a few thousand datagrams. What a
/// single datagram can have QUIC do is bounded by its size and by ngtcp2: it keeps a handful of connection ids and of
/// path challenges, and of the handshake's messages 64 KiB that come before what they follow and one of 128 KiB.
struct HTTP3Allowance: Equatable {
    /// Enough for a day of pings on a connection that waits.
    static let most = 10_000
    /// What a request is good for.
    static let request = 32
    /// What a piece of content is good for, in either direction.
    static let content = 4
    /// Bytes of frames that count as much as a datagram. An empty frame has two, and a datagram has hundreds of those.
    static let overhead = 8
    /// Bytes sent that are good for one more datagram, since they have to be acknowledged.
    static let sent = 256
    /// Of what the windows let a server send, so many bytes count as a datagram, and no more is kept of that: nobody may want
    /// it any more when it comes, and behind a datagram that was lost none of it is told before that has come again.
    static let promised = 1_024
    static let mostPromised = 32_768

    private var left = most
    private var overheadLeft = 0

    mutating func add(_ count: Int) {
        left = max(left, min(left &+ max(count, 0), Self.most))
    }

    /// The windows let so many bytes be sent.
    mutating func addPromised(_ count: Int) {
        left = max(left, min(left &+ count / Self.promised, Self.mostPromised))
    }

    /// The reader has got so many bytes. The windows are as wide as that goes fast.
    mutating func addContent(_ count: Int, in pieces: Int) {
        add(Self.content &* pieces)
        addPromised(count &* Self.content)
    }

    mutating func addSent(_ count: Int) {
        add(Self.content &+ count / Self.sent)
    }

    /// So many datagrams have come, with so many bytes of frames in them that were no content. False if it was too much.
    mutating func received(_ datagrams: Int, overhead: Int) -> Bool {
        overheadLeft &+= min(max(overhead, 0), (Self.most &+ 1) &* Self.overhead)
        left &-= datagrams &+ overheadLeft / Self.overhead
        overheadLeft %= Self.overhead
        return left >= 0
    }
}
