internal import CLoadingLinux
internal import Glibc
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// Copies bytes between a TLS connection and a local socket that a program reads and writes without TLS. Confined to
/// the connection's loop, which retains the relay until both sides are done. Reading from one side stops while the
/// other side does not accept more, so the relay buffers at most one piece per direction.
///
/// After the program has closed its socket, the remaining bytes are still sent, unless the peer accepts none of them
/// for some time: no caller is left that could cancel the connection. `LingeringClose` then closes it.
final class StreamRelay: ByteStreamOwner, LoopTimerTarget {
    private let remote: ByteStream
    private let local: ByteStream
    private weak var captured: CapturedConnection?
    private var inward = Direction()
    private var outward = Direction()
    /// The peer accepts no more.
    private var hasWritingFailed = false
    private let timer = LoopTimer()
    /// Set when the program has closed its socket.
    private var timeout: StalledPeerTimeout?

    private struct Direction {
        /// Bytes read from one side that the other side has not accepted yet.
        var pending: [UInt8] = []
        /// The source side has ended.
        var hasEnded = false
        /// The destination side has been closed, or accepts no more.
        var isClosed = false

        /// Whether there are bytes or an end to pass on that the destination side does not accept yet.
        var isBlocked: Bool { !isClosed && (hasEnded || !pending.isEmpty) }
    }

    /// How many bytes a direction moves in one turn.
    private static let budget = 256 * 1024

    /// Takes over the connection and the socket. If the loop cannot get a descriptor, the connection fails.
    static func start(
        between remote: ByteStream, and descriptor: Int32, for captured: CapturedConnection
    ) {
        guard let local = ByteStream(descriptor: descriptor, loop: remote.loop, owner: UnusedOwner()) else {
            captured.fail(cll_errno())
            close(descriptor)
            return remote.close()
        }
        let relay = StreamRelay(remote, local, captured)
        remote.owner = relay
        local.owner = relay
        // Bytes that have already arrived cause no readiness event.
        remote.callAgain()
    }

    private init(_ remote: ByteStream, _ local: ByteStream, _ captured: CapturedConnection) {
        self.remote = remote
        self.local = local
        self.captured = captured
    }

    func streamBecameReady(_ stream: ByteStream) {
        move(&inward, from: remote, to: local)
        move(&outward, from: local, to: remote)
        // TLS may have had to read before it could write.
        move(&inward, from: remote, to: local)
        if outward.isClosed {
            if inward.isClosed || isLocalGone { endInOrder() }
        } else if outward.isBlocked, timeout == nil, !remote.isClosed, isLocalGone {
            let now = remote.loop.now
            let limit = remote.loop.limits.capturedPeer
            timeout = StalledPeerTimeout(limit, acknowledged: remote.bytesAcknowledged, at: now)
            remote.loop.arm(timer, at: now &+ limit, for: self)
        }
    }

    func timerFired(_ timer: LoopTimer) {
        let next = timeout?.nextCheck(acknowledged: remote.bytesAcknowledged, at: remote.loop.now)
        guard let next else { return end() }
        remote.loop.arm(timer, at: next, for: self)
    }

    private func move(_ direction: inout Direction, from source: ByteStream, to sink: ByteStream) {
        var budget = Self.budget
        while !remote.isClosed {
            while !direction.pending.isEmpty {
                switch direction.pending.withUnsafeBytes({ sink.write($0) }) {
                case .bytes(let count): direction.pending.removeFirst(count)
                case .wouldBlock: return
                case .failed(let failure):
                    direction.pending = []
                    direction.isClosed = true
                    if sink === remote { writingFailed(failure) }
                }
            }
            if direction.hasEnded {
                if !direction.isClosed { direction.isClosed = sink.closeWriting() }
                return
            }
            guard budget > 0 else { return source.callAgain() }
            let scratch = source.loop.scratch
            switch source.read(into: scratch) {
            case .bytes(let count):
                budget -= count
                // After the destination is closed, the bytes are dropped, so that the peer does not have to wait.
                if !direction.isClosed { direction.pending = [UInt8](scratch.prefix(count)) }
            case .wouldBlock: return
            case .end: direction.hasEnded = true
            // The program has closed its socket without reading all that was there, after its own last byte.
            case .failed where source === local: direction.hasEnded = true
            case .truncated: fail(.posix(POSIXFailure(ECONNRESET)))
            case .failed(let failure): fail(failure)
            }
        }
    }

    /// Whether the program has closed both directions.
    private var isLocalGone: Bool {
        var asked = pollfd(fd: local.descriptor, events: 0, revents: 0)
        return poll(&asked, 1, 0) > 0 && Int32(asked.revents) & Int32(POLLHUP) != 0
    }

    /// The program's writes fail from now on, but what the peer sent before is still delivered. Its end is then a
    /// failure.
    private func writingFailed(_ failure: StreamFailure) {
        hasWritingFailed = true
        captured?.fail(Self.code(of: failure))
        shutdown(local.descriptor, Int32(SHUT_RD))
    }

    private func fail(_ failure: StreamFailure) {
        captured?.fail(Self.code(of: failure))
        end()
    }

    private static func code(of failure: StreamFailure) -> Int32 {
        switch failure {
        case .posix(let failure): failure.code
        case .tls(let error): error.posix == 0 ? EPROTO : error.posix
        }
    }

    /// All bytes of the program are written, but may still be on their way to the peer.
    private func endInOrder() {
        guard !inward.hasEnded, !hasWritingFailed, !remote.isClosed else { return end() }
        remote.loop.disarm(timer)
        LingeringClose.begin(on: remote, isClosingWriting: false)
        local.close()
    }

    private func end() {
        remote.loop.disarm(timer)
        remote.close()
        local.close()
    }
}

/// The owner of the connection until the relay exists.
private final class UnusedOwner: ByteStreamOwner {
    func streamBecameReady(_ stream: ByteStream) {}
}
