/// How much a server may send ahead of its readers.
///
/// Unread bytes stay in memory, so a window bounds memory. A stream's window starts small and grows while its reader
/// keeps up. A paused reader holds at most one window. The connection's window stays open until the unread bytes of all
/// streams reach `maximumUnread`. Then the connection is full, and new requests use another one.
package struct StreamWindowSizes: Sendable, Equatable {
    /// The initial window of a stream: more than TCP delivers in the first round trips, and small enough for a hundred
    /// paused streams.
    package let initialStream: Int
    /// The largest window of a stream: enough for 640 Mbit/s at 100 ms. A window is renewed when half of it has been
    /// read, so the other half must last for a round trip.
    package let maximumStream: Int
    /// The growth of the windows of all open streams together, so that a few fast streams that pause do not fill the
    /// connection: twice what the largest window needs, because each leaves as much as it takes.
    package let maximumGrowth: Int
    /// The connection's window: more than the largest stream needs, so that other streams can go on.
    package let connection: Int
    /// The unread bytes of all streams at which the connection's window closes: all growth, and the initial windows of
    /// 34 paused streams.
    package let maximumUnread: Int

    package init(
        initialStream: Int = 1 << 20, maximumStream: Int = 16 << 20, maximumGrowth: Int = 30 << 20,
        connection: Int = 24 << 20, maximumUnread: Int = 64 << 20
    ) {
        // 65,535 is what each connection has before anything was said, and 31 bits are what the protocol has.
        let largest = Int(Int32.max)
        self.initialStream = min(max(initialStream, 1), largest)
        self.maximumStream = min(max(maximumStream, self.initialStream), largest)
        self.maximumGrowth = max(maximumGrowth, 0)
        self.connection = min(max(connection, 65_535), largest)
        self.maximumUnread = max(maximumUnread, 0)
    }
}
