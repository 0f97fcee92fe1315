internal import LoadingSemantics
package import LoadingTransport

/// Keeps a connection open after its owner has written the last byte and stopped reading. After an immediate close,
/// further data from the peer would make the kernel drop the bytes that are in transit to the peer. Reads and discards
/// input until the peer closes and close_notify is sent, for a limited time. Retained by the loop.
package final class LingeringClose: ByteStreamOwner, LoopTimerTarget {
    private let stream: ByteStream
    private let timer = LoopTimer()
    /// Whether the peer has not yet been notified that nothing more is written.
    private var isClosingWriting: Bool

    private var discardedBytes = 0

    /// The bytes that one turn reads before other connections get their turn.
    private static let readBudget = 256 * 1024
    /// The bytes that are discarded of a peer that has everything, and goes on sending.
    private static let mostDiscarded = 1024 * 1024

    /// - Parameter isClosingWriting: Whether close_notify is not sent yet.
    package static func begin(on stream: ByteStream, isClosingWriting: Bool) {
        let lingering = LingeringClose(stream, isClosingWriting)
        stream.owner = lingering
        stream.loop.arm(lingering.timer, at: stream.loop.now + stream.loop.limits.lingeringClose, for: lingering)
        // Input that has arrived already causes no new readiness event.
        stream.callAgain()
    }

    private init(_ stream: ByteStream, _ isClosingWriting: Bool) {
        self.stream = stream
        self.isClosingWriting = isClosingWriting
    }

    package func streamBecameReady(_ stream: ByteStream) {
        if isClosingWriting { isClosingWriting = !stream.closeWriting() }
        var budget = Self.readBudget
        while true {
            guard budget > 0 else { return stream.callAgain() }
            switch stream.read(into: stream.loop.scratch) {
            case .bytes(let count):
                budget -= count
                discardedBytes += count
                if discardedBytes > Self.mostDiscarded, stream.acknowledgement?.outstanding ?? 0 == 0 { return end() }
            case .wouldBlock: return
            // The send buffer is full, and close_notify follows when it has room.
            case .end where isClosingWriting: return
            case .end, .truncated, .failed: return end()
            }
        }
    }

    package func timerFired(_ timer: LoopTimer) { end() }

    private func end() {
        stream.loop.disarm(timer)
        stream.close()
    }
}
