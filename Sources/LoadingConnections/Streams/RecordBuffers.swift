internal import LoadingSemantics
internal import LoadingTransport

/// Decides when the TLS of a connection keeps its record buffers between records: while one read soon follows the
/// other. Confined to its loop.
final class RecordBuffers: LoopTimerTarget {
    private let stream: ByteStream
    private let timer = LoopTimer()
    private var areKept = false
    private var lastRead: Int64

    init(of stream: ByteStream) {
        self.stream = stream
        lastRead = stream.loop.now
    }

    func noteRead() {
        let now = stream.loop.now
        let interval = now &- lastRead
        lastRead = now
        if !areKept, interval < stream.loop.limits.recordBufferInterval { keep(true) }
    }

    /// Gives them back. The connection reads no more.
    func end() {
        stream.loop.disarm(timer)
        if areKept { keep(false) }
    }

    func timerFired(_ timer: LoopTimer) { keep(stream.loop.now &- lastRead < lifetime) }

    private var lifetime: Int64 { stream.loop.limits.recordBufferLifetime }

    private func keep(_ areKept: Bool) {
        self.areKept = areKept
        stream.tls?.keepBuffers(areKept)
        if areKept { stream.loop.arm(timer, at: lastRead &+ lifetime, for: self) }
    }
}
