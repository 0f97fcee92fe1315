internal import CLoadingLinux
internal import FoundationEssentials
internal import Glibc
internal import LoadingPipeline
internal import LoadingSemantics
package import LoadingTransport

/// A connection that carries messages as JSON, each in a frame (`MessageFrames`), over a stream socket on a loop.
///
/// Whatever the peer sends ends at most this connection. Confined to its loop, which retains it until it has ended. It
/// takes ownership of the descriptor.
package final class MessageSocket<Incoming: Codable & Sendable, Outgoing: Codable & Sendable>: ReadinessHandler {
    private let loop: EventLoop
    private let descriptor: Int32
    private var registration: LoopRegistration?
    private var isClosed = false
    /// Nil after the end, so that they release what they hold.
    private var receive: (([Incoming]) -> Void)?
    private var ended: ((MessageSocketEnd) -> Void)?
    /// Found while sending. Reported in the next turn, because the sender may be in the middle of its work.
    private var pendingEnd: MessageSocketEnd?

    private var frames = MessageFrames()
    private var mayRead = false
    private var mayWrite = true
    /// It ends when everything was sent, or when the timer fires.
    private var isEnding = false
    private let closeTimer = LoopTimer()
    /// The peer has closed its side. What it has sent before can still be read.
    private var isBroken = false
    private var peer: PeerProcess?
    /// The process of the peer has ended. Another one that it has forked may keep its socket open.
    private var isPeerGone = false

    /// The bytes that the socket has not accepted yet, as chunks, of which there are tens of thousands for a peer that
    /// has not read for hours. `sentOfFirst` bytes of the first one were sent.
    private var queue = FIFOQueue<Data>()
    private var sentOfFirst = 0
    package private(set) var queuedBytes = 0
    private let largestMessage: Int
    private let largestBacklog: Int
    /// How many bytes may wait now.
    private var backlogLimit: Int

    /// Called when `queuedBytes` falls to `drainMark` or below, after it was above.
    package var drained: (() -> Void)?
    package var drainMark = 1 << 20

    /// The number of bytes that are read and decoded in one turn. Bounds the time of a turn.
    private static var bytesPerTurn: Int { 1 << 20 }

    /// - Parameters:
    ///   - largestMessage: The limit for a message that is sent, in bytes.
    ///   - largestBacklog: The number of bytes that may wait for the peer when a message is sent, besides a state that
    ///     it gets. With more, the connection ends.
    ///   - watchesPeer: Whether it ends with the process that has connected, also if another one has its socket.
    ///   - receive: Receives all messages that were complete in a turn, in order. At least one.
    ///   - ended: Called once, unless `close` was called before. All messages before the end were received then.
    package init(
        _ descriptor: Int32, on loop: EventLoop, largestMessage: Int = ServiceProtocol.largestMessage,
        largestBacklog: Int = 16 << 20, watchesPeer: Bool = false,
        receive: @escaping ([Incoming]) -> Void, ended: @escaping (MessageSocketEnd) -> Void
    ) {
        self.descriptor = descriptor
        self.loop = loop
        self.largestMessage = largestMessage
        self.largestBacklog = largestBacklog
        backlogLimit = largestBacklog
        self.receive = receive
        self.ended = ended
        registration = loop.register(descriptor, self)
        if registration == nil {
            end(with: .error(cll_errno()))
        } else if watchesPeer {
            peer = PeerProcess(of: descriptor, on: loop) { [weak self] in self?.peerEnded() }
        }
    }

    /// Whether the peer has closed its end, or its process has ended, even if what it has sent was not read yet.
    package var hasHungUp: Bool {
        if isClosed || peer?.hasEnded == true { return true }
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    /// Closes the connection. What is queued is lost. Nothing is called any more.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        loop.disarm(closeTimer)
        if let registration { loop.unregister(descriptor, registration) }
        registration = nil
        peer?.close()
        peer = nil
        Glibc.close(descriptor)
        (receive, ended, drained) = (nil, nil, nil)
        dropQueue()
        frames = MessageFrames()
    }

    /// Closes the connection when everything that is queued was sent, or cannot be, or when the peer does not read it
    /// for long. Nothing is received any more. `ended` is called.
    package func closeWhenSent() {
        receive = nil
        isEnding = true
        guard !isClosed, pendingEnd == nil else { return }
        if queue.isEmpty {
            end(with: .closed)
        } else {
            loop.arm(closeTimer, at: loop.now &+ loop.limits.lingeringClose, for: self)
        }
    }

    // MARK: Sending

    /// Whether the message is not longer than the limit.
    package func fits(_ message: Outgoing) -> Bool { encoded(message) != nil }

    private func encoded(_ message: Outgoing) -> Data? {
        let content = try? TransferMessage(message).encoded()
        return content.flatMap { $0.count <= largestMessage ? $0 : nil }
    }

    /// Returns false if the message is longer than the limit. It is not sent then.
    @discardableResult
    package func send(_ message: Outgoing) -> Bool { send([message]) }

    /// Sends the messages with one write, if the socket accepts them. Returns false if one is longer than the limit.
    /// Nothing is sent then.
    ///
    /// - Parameter isState: Whether the peer has asked for these, so that their number is no sign that it does not
    ///   read. If it asks again before it has read them, the connection ends.
    @discardableResult
    package func send(_ messages: [Outgoing], isState: Bool = false) -> Bool {
        guard !isClosed, !isBroken, !isEnding, pendingEnd == nil, !messages.isEmpty else { return true }
        var chunk = Data()
        for message in messages {
            guard let content = encoded(message) else { return false }
            MessageFrames.append(content, to: &chunk)
        }
        guard queuedBytes <= (isState ? largestBacklog : backlogLimit) else {
            end(with: .backlog)
            return true
        }
        queue.append(chunk)
        queuedBytes += chunk.count
        if isState { backlogLimit = queuedBytes + largestBacklog }
        write()
        return true
    }

    private func write() {
        let before = queuedBytes
        while mayWrite, let chunk = queue.first {
            let count = chunk.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sentOfFirst...])
                return cll_send(descriptor, rest.baseAddress, rest.count)
            }
            guard count >= 0 else {
                writeFailed(cll_errno())
                break
            }
            queuedBytes -= count
            sentOfFirst += count
            if sentOfFirst == chunk.count {
                _ = queue.popFirst()
                sentOfFirst = 0
            }
        }
        if queuedBytes <= largestBacklog { backlogLimit = largestBacklog }
        if isEnding, queue.isEmpty, pendingEnd == nil { end(with: .closed) }
        if before > drainMark, queuedBytes <= drainMark, !isBroken { drained?() }
    }

    private func dropQueue() {
        (queue, queuedBytes, sentOfFirst) = (FIFOQueue(), 0, 0)
    }

    private func writeFailed(_ code: Int32) {
        mayWrite = false
        if code == EAGAIN || code == EWOULDBLOCK { return }
        // Messages that the peer has sent before come first, then the end.
        isBroken = true
        dropQueue()
        mayRead = true
        loop.callAgain(self)
    }

    // MARK: Receiving

    package func becameReady(_ readiness: Readiness) {
        guard !isClosed else { return }
        if let pendingEnd { return finish(pendingEnd) }
        if !readiness.isDisjoint(with: [.readable, .hangup]) { mayRead = true }
        if readiness.contains(.writable) {
            mayWrite = true
            write()
        }
        // `drained` may have closed the connection.
        if !isClosed, mayRead { read() }
    }

    private func read() {
        var count = 0
        var end: MessageSocketEnd?
        while mayRead, end == nil, count < Self.bytesPerTurn {
            let received = cll_recv(descriptor, loop.scratch.baseAddress, loop.scratch.count)
            if received > 0 {
                count += received
                frames.append(UnsafeRawBufferPointer(rebasing: loop.scratch[..<received]))
            } else {
                mayRead = false
                end = received == 0 ? .closed : Self.end(for: cll_errno()) ?? (isPeerGone ? .closed : nil)
            }
        }
        // What arrives while it ends is dropped, so that the peer can go on.
        if isEnding { frames = MessageFrames() }
        let (messages, fault) = decodeMessages()
        if !messages.isEmpty { receive?(messages) }
        if isClosed { return }
        if let end = fault ?? end { return finish(end) }
        if mayRead { loop.callAgain(self) }
    }

    private func peerEnded() {
        // What it has sent before comes first.
        isPeerGone = true
        mayRead = true
        loop.callAgain(self)
    }

    private static func end(for code: Int32) -> MessageSocketEnd? {
        switch code {
        case EAGAIN, EWOULDBLOCK: nil
        // The peer has closed the connection without having read everything.
        case ECONNRESET, EPIPE: .closed
        default: .error(code)
        }
    }

    private func decodeMessages() -> ([Incoming], MessageSocketEnd?) {
        var messages: [Incoming] = []
        do {
            while let content = try frames.next() {
                messages.append(try TransferMessage<Incoming>(decoding: content).content)
            }
            return (messages, nil)
        } catch is MessageFrames.Failure {
            return (messages, .tooLong)
        } catch let unknown as TransferFormat.UnknownVersion {
            return (messages, .unknownVersion(unknown.version))
        } catch {
            return (messages, .malformed)
        }
    }

    // MARK: The end

    private func end(with reason: MessageSocketEnd) {
        pendingEnd = reason
        loop.callAgain(self)
    }

    private func finish(_ reason: MessageSocketEnd) {
        let ended = ended
        close()
        ended?(reason)
    }
}

extension MessageSocket: LoopTimerTarget {
    package func timerFired(_ timer: LoopTimer) { finish(.backlog) }
}

/// Why a `MessageSocket` has ended.
package enum MessageSocketEnd: Equatable, Sendable {
    /// The peer has closed the connection, perhaps within a message.
    case closed
    /// The peer has announced a message longer than the limit.
    case tooLong
    /// The peer has sent a message that cannot be decoded.
    case malformed
    /// The peer has sent a message in another version of the format.
    case unknownVersion(Int)
    /// The peer does not read, and bytes wait for it: too many, or for too long.
    case backlog
    /// A system call has failed with that errno.
    case error(Int32)
}

/// The process at the other end of a UNIX socket.
package enum SocketPeer {
    /// The effective user id that the peer had when it connected or listened, as the kernel has it; nil if it is not
    /// known.
    package static func userID(of descriptor: Int32) -> UInt32? {
        var user: UInt32 = 0
        return cll_peer_user(descriptor, &user) == 0 ? user : nil
    }
}
