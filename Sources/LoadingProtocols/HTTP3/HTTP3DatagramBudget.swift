internal import CLoadingHTTP3

/// Counts the datagrams of a peer, and its frames without content, against its `AbuseBudget`.
///
/// The work of QUIC for a single datagram is bounded by the datagram's size and by ngtcp2, which keeps few connection
/// ids and path challenges. It keeps 64 KiB of handshake messages that come out of order, and one message of
/// `HTTP3Limits.handshakeMessage`.
struct HTTP3DatagramBudget: Equatable {
    /// The bytes of frames without content that cost as much as a datagram. An empty frame has two bytes, and a
    /// datagram holds hundreds of empty frames.
    static let overheadBytesPerUnit = 8
    /// The sent bytes that allow one more datagram, with their acknowledgements.
    static let sentBytesPerUnit = 256

    private var budget = AbuseBudget()
    private var overhead = HTTP3Overhead()
    private var unspentOverhead = 0

    /// A request was submitted, or a response has begun.
    mutating func addRequest() {
        budget.add(AbuseBudget.perRequest)
    }

    /// A PING was sent. The peer must acknowledge it.
    mutating func addPing() {
        budget.add(AbuseBudget.perPing)
    }

    /// So many bytes of content were passed to the reader. The windows are as large as the reader is fast.
    mutating func addReceivedContent(_ count: Int, in pieces: Int) {
        budget.add(AbuseBudget.perContent &* pieces)
        budget.addWindow(count &* AbuseBudget.perContent)
    }

    mutating func addSentContent(_ count: Int) {
        budget.add(AbuseBudget.perContent &+ count / Self.sentBytesPerUnit)
    }

    /// A stream was cancelled whose window has allowed so many bytes.
    mutating func addCancelledWindow(_ bytes: Int) {
        budget.addWindow(bytes)
    }

    /// So many datagrams were received, and have caused this work. False if the budget is exceeded.
    mutating func received(_ datagrams: Int, causing work: cl3_work) -> Bool {
        // A datagram that cannot be decrypted, or was received before, may be from an attacker.
        let foreign = min(Int(clamping: work.foreign), datagrams)
        return received(datagrams &- foreign, overhead: overhead.bytes(of: work))
    }

    mutating func received(_ datagrams: Int, overhead: Int) -> Bool {
        unspentOverhead &+= min(max(overhead, 0), (AbuseBudget.maximum &+ 1) &* Self.overheadBytesPerUnit)
        let units = datagrams &+ unspentOverhead / Self.overheadBytesPerUnit
        unspentOverhead %= Self.overheadBytesPerUnit
        return budget.spend(units)
    }
}

/// What frames without content cost, in bytes.
private struct HTTP3Overhead: Equatable {
    /// The cost of any header section, in addition to its bytes.
    private static let section: UInt64 = 64
    /// The cost of a stream that the peer has opened and closed.
    private static let stream: UInt64 = 512
    private static let ticket: UInt64 = 4_096
    /// The peer may replace the whole QPACK table for each response, and for some responses ahead.
    private static var table: UInt64 { UInt64(HTTP3Limits.tableCapacity) }
    private static var mostTables: UInt64 { 4 &* table }

    /// Bytes of header sections, which are limited on their own.
    private var freeSectionBytes: UInt64 = 0
    /// Bytes of QPACK instructions that cost nothing.
    private var freeTableBytes: UInt64 = 0

    mutating func bytes(of work: cl3_work) -> Int {
        freeSectionBytes &+= work.section_bytes
        freeTableBytes = min(freeTableBytes &+ work.responses &* Self.table, Self.mostTables)
        var cost = work.bytes &+ work.sections &* Self.section
        cost &+= work.streams &* Self.stream &+ work.tickets &* Self.ticket
        cost = Self.deduct(&freeSectionBytes, from: cost)
        cost = Self.deduct(&freeTableBytes, from: cost)
        return Int(clamping: cost)
    }

    private static func deduct(_ free: inout UInt64, from cost: UInt64) -> UInt64 {
        let deducted = min(free, cost)
        free &-= deducted
        return cost &- deducted
    }
}
