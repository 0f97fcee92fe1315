/// How much a server may send ahead of its readers.
///
/// What a reader has not taken is in memory, so a window is a promise of memory. A stream's begins small and grows as
/// long as its reader keeps up; a reader that pauses has at most one window before it. The connection's window stays
/// open whatever a few readers do, until all unread bytes together reach `maximumUnread`: then it is full, and whoever
/// comes is better off on another.
package struct HTTP2Windows: Sendable, Equatable {
    /// What a stream begins with: more than TCP brings in the first round trips, and little enough that a hundred
    /// paused streams hold no more than a photo library does.
    package let initialStream: Int
    /// A stream fills 640 Mbit/s at 100 ms, and what is faster has a shorter way. A window is renewed when half of it
    /// has been read, so the second half has to last for a round trip.
    package let maximumStream: Int
    /// By how much the windows of all open streams may have grown together, so that the few that were fast and are paused
    /// do not fill the connection.
    package let maximumGrowth: Int
    /// More than the largest stream needs, so that others have room beside it.
    package let connection: Int
    /// What all streams of a connection may hold unread before the connection's window closes as well: all growth, and
    /// forty streams that were paused when they began.
    package let maximumUnread: Int

    package init(
        initialStream: Int = 1 << 20, maximumStream: Int = 16 << 20, maximumGrowth: Int = 24 << 20,
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
