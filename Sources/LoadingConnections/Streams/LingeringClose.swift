internal import LoadingSemantics
internal import LoadingTransport

/// Stays behind on a connection whose owner has written his last byte and listens no more: were it closed now, whatever
/// the peer still says would make the kernel drop what is on its way there. Reads and drops until the peer ends, for a
/// while. Held by the loop.
final class LingeringClose: ByteStreamOwner, LoopTimerTarget {
    private let stream: ByteStream
    private let timer = LoopTimer()
    /// The peer does not know yet that nothing more is written.
    private var isClosingWriting: Bool

    /// Bytes that a turn reads before others have theirs.
    private static let readBudget = 256 * 1024

    static func begin(on stream: ByteStream, isClosingWriting: Bool) {
        let farewell = LingeringClose(stream, isClosingWriting)
        stream.owner = farewell
        stream.loop.arm(farewell.timer, at: stream.loop.now + stream.loop.limits.lingeringClose, for: farewell)
        // What has come already makes no readiness of its own.
        stream.callAgain()
    }

    private init(_ stream: ByteStream, _ isClosingWriting: Bool) {
        self.stream = stream
        self.isClosingWriting = isClosingWriting
    }

    func streamBecameReady(_ stream: ByteStream) {
        if isClosingWriting { isClosingWriting = !stream.closeWriting() }
        var budget = Self.readBudget
        while true {
            guard budget > 0 else { return stream.callAgain() }
            switch stream.read(into: stream.loop.scratch) {
            case .bytes(let count): budget -= count
            case .wouldBlock: return
            case .end, .truncated, .failed: return end()
            }
        }
    }

    func timerFired(_ timer: LoopTimer) { end() }

    private func end() {
        stream.loop.disarm(timer)
        stream.close()
    }
}
