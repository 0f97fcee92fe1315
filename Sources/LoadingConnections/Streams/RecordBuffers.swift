internal import LoadingTransport

/// Decides when the TLS of a connection keeps its record buffers between records: while one read soon follows the
/// other. Confined to its loop.
final class RecordBuffers: LoopTimerTarget {
    private let stream: ByteStream
    private let timer = LoopTimer()
    private var areKept = false
    private var lastRead: Int64

    /// The most time between two reads for which the buffers begin to be kept, so that one message to each of many
    /// connections costs no memory. Nanoseconds.
    private static let maximumReadInterval: Int64 = 50_000_000
    /// How long they are kept without a read. Nanoseconds.
    private static let keptTime: Int64 = 1_000_000_000

    init(of stream: ByteStream) {
        self.stream = stream
        lastRead = stream.loop.now
    }

    func noteRead() {
        let now = stream.loop.now
        let interval = now &- lastRead
        lastRead = now
        if !areKept, interval < Self.maximumReadInterval { keep(true) }
    }

    /// Gives them back. The connection reads no more.
    func end() {
        stream.loop.disarm(timer)
        if areKept { keep(false) }
    }

    func timerFired(_ timer: LoopTimer) { keep(stream.loop.now &- lastRead < Self.keptTime) }

    private func keep(_ areKept: Bool) {
        self.areKept = areKept
        stream.tls?.keepBuffers(areKept)
        if areKept { stream.loop.arm(timer, at: lastRead &+ Self.keptTime, for: self) }
    }
}
