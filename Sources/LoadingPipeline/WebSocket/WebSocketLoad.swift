package import LoadingConnections
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// A WebSocket after its opening handshake, which is an `HTTPLoad`. `WebSocketMachine` has the protocol; this reads and
/// writes the connection, and answers the client's operations. Confined to its loop. Reports the end to its client
/// exactly once.
///
/// **Back-pressure.** Reading stops while the client's queue is full, so the server has to wait. Messages are
/// masked as the connection takes them.
///
/// **Batches.** Operations of one turn of the loop are written together in the next, which follows at once.
///
/// **Faults.** When the server breaks the protocol, nothing more is read, and the load fails when the client has taken
/// in the messages that came before, and what it sent in answer is written: what a message causes does not depend on
/// what followed it in one read.
///
/// **A lost connection.** What waits to be sent, or to be answered, fails at once. The load ends when the client has
/// taken in what had arrived before, as after a close frame, which may be among it.
///
/// **Closing.** When the server's close frame arrives, or the client closes, the close frames are exchanged within
/// `TimeLimits.webSocketClose`. The connection is then left. If the server was first, the load ends when the client has
/// taken in the messages before the close frame, or when it takes in nothing for `TimeLimits.webSocketClose`: a client
/// that receives one message after the other hears of the closing after the last. If the last one was given to the caller
/// of an `async` method, the end waits until it asks for the next one, but no longer than
/// `TimeLimits.webSocketResumption`. What waits to be sent or answered fails before this wait.
package final class WebSocketLoad: Load, LoopTimerTarget, StreamConnectionOwner {
    private let loop: EventLoop
    private let log: EventLog?
    // Exclusive access to what each message changes is not checked: an access never lasts while other code is called.

    /// Retained until the end.
    @exclusivity(unchecked) private var client: (any WebSocketClient)?
    @exclusivity(unchecked) private var connection: (any WebSocketTransport)?
    @exclusivity(unchecked) private var machine: WebSocketMachine

    /// Encoded octets that the connection has not taken, from `outputHead` on.
    @exclusivity(unchecked) private var output: [UInt8] = []
    @exclusivity(unchecked) private var outputHead = 0
    /// Octets that were read and not given to the machine yet, from `inputHead` on.
    @exclusivity(unchecked) private var input: [UInt8]
    @exclusivity(unchecked) private var inputHead = 0
    /// Whether the client has enough messages for now.
    @exclusivity(unchecked) private var isReadingStopped = false
    @exclusivity(unchecked) private var senders = FIFOQueue<Sender>()
    /// The message of several parts that has begun. Other messages wait until its last part.
    @exclusivity(unchecked) private var openMessage: Int?
    @exclusivity(unchecked) private var delayed =
        FIFOQueue<(payload: any WebSocketPayload, part: MessagePart, reply: Reply)>()
    @exclusivity(unchecked) private var pings = FIFOQueue<(number: Int, reply: Reply)>()
    @exclusivity(unchecked) private var lastNumber = 0

    /// False until the client has passed on the operations that it was asked for before the connection was open.
    @exclusivity(unchecked) private var hasStarted = false
    @exclusivity(unchecked) private var isSuspended = false
    @exclusivity(unchecked) private var isWorking = false
    /// Whether the connection will call in the next turn, for what the client has asked for in this one.
    @exclusivity(unchecked) private var isCallAwaited = false
    /// Whether as much was compressed in this turn as one may take. The next turn goes on.
    @exclusivity(unchecked) private var hasCompressed = false
    /// Why nothing can be sent any more. The server's close frame may still have arrived before.
    private var writeFailure: LoadError? { didSet { hasWriteFailed = writeFailure != nil } }
    @exclusivity(unchecked) private var hasWriteFailed = false
    /// What the server did wrong, until the load fails with it.
    private var fault: LoadError? { didSet { hasFault = fault != nil } }
    @exclusivity(unchecked) private var hasFault = false
    /// Whether the client has asked for the closing, so that it waits for no messages.
    private var isClosedByClient = false
    /// Whether the server has ended the connection without a close frame, with `writeFailure` (WS-13).
    private var isLost = false
    /// Whether the connection is left, and the client takes in what came before its end.
    private var isAwaitingClient = false
    /// The error of operations that come too late; nil until the end.
    private var lateError: LoadError?
    @exclusivity(unchecked) package private(set) var hasEnded = false
    @exclusivity(unchecked) private var counts = (received: Int64(0), messages: Int64(0))

    private let timer = LoopTimer()
    @exclusivity(unchecked) private var clock: LoadClock
    private let totalTimeout: Double
    /// Until when the close frames have to be exchanged, or what had arrived before a close frame, a fault or a failed
    /// write has to be taken in.
    @exclusivity(unchecked) private var closeDeadline: Int64?
    /// The time without a received octet after which a ping is sent, and after which the server then counts as lost.
    /// Nanoseconds.
    @exclusivity(unchecked) private var pingInterval: Int64?
    @exclusivity(unchecked) private var lastReceived: Int64
    /// When the keep-alive ping was sent.
    @exclusivity(unchecked) private var probe: Int64?

    /// Called without an error when it has happened.
    package typealias Reply = (LoadError?) -> Void

    /// What a payload is: a message, or a part of the message with a number that the client has chosen.
    package enum MessagePart: Sendable {
        case whole(isText: Bool)
        case part(WebSocketMachine.Part, of: Int)

        var framing: WebSocketMachine.Part {
            switch self {
            case .whole(let isText): .whole(isText: isText)
            case .part(let part, _): part
            }
        }

        var isText: Bool {
            switch framing {
            case .whole(let isText), .first(let isText): isText
            case .middle, .last: false
            }
        }
    }

    private struct Sender {
        let number: Int
        let isText: Bool
        let count: Int
        let reply: Reply
    }

    /// How many octets one connection may read, decompress, or write in a turn before other connections get their turn.
    private static let budget = 256 * 1024
    private static let outputLength = 64 * 1024
    /// An output buffer larger than this is released when it is empty.
    private static let keptOutput = 4 * 1024

    /// - Parameters:
    ///   - clock: That of the opening handshake, from which the total timeout runs.
    ///   - totalTimeout: In seconds.
    init(
        on carrier: WebSocketCarrier, _ agreement: WebSocketHandshake.Agreement, maximumMessageSize: Int,
        in environment: LoadingEnvironment, clock: LoadClock, totalTimeout: Double, log: EventLog?,
        client: any WebSocketClient
    ) {
        loop = environment.loop
        self.clock = clock
        self.totalTimeout = totalTimeout
        self.log = log
        self.client = client
        input = []
        lastReceived = loop.now
        machine = WebSocketMachine(
            maximumMessageSize: maximumMessageSize, compression: agreement.compression,
            maskingKeys: WebSocketMaskingKeys(KernelRandom.fill))
        switch carrier {
        case .connection(let handed):
            input = handed.rest
            connection = StreamConnection(handed, in: environment.pool, owner: self)
        case .tunnel(let tunnel):
            tunnel.takeOver(by: self)
            connection = tunnel
        }
        record(.webSocketOpened(subprotocol: agreement.subprotocol, isCompressed: agreement.compression != nil))
    }

    // MARK: From the client

    package func start(_ reason: LoadEvent.FetchReason) {
        hasStarted = true
        writeAndRead()
    }

    /// Stops reading, writing and the timeouts (T-2).
    package func suspend() {
        // What was asked for before is written before.
        if isCallAwaited { writeAndRead() }
        guard !isSuspended, !hasEnded else { return }
        isSuspended = true
        client?.load(self, holdsMessages: true)
        clock.suspend(at: loop.now)
        loop.disarm(timer)
    }

    package func resume() {
        guard isSuspended, !hasEnded else { return }
        isSuspended = false
        clock.resume(at: loop.now)
        lastReceived = loop.now
        probe = nil
        client?.load(self, holdsMessages: false)
        if isAwaitingClient { awaitClient() } else { writeAndRead() }
    }

    /// Sends a close frame if the connection takes it at once (WS-10), and ends.
    package func cancel(_ error: LoadError) {
        loop.checkConfinement(of: "A load")
        if isCallAwaited { writeAndRead() }
        guard !hasEnded else { return }
        machine.abandon()
        client?.loadDropsMessages(self)
        end(error)
    }

    package func send(
        _ payload: consuming any WebSocketPayload, _ part: MessagePart, reply: consuming @escaping Reply
    ) {
        if !hasEnded, !hasWriteFailed, machine.isOpen, mustWait(part) {
            delayed.append((payload, part, reply))
        } else {
            add(payload, part, reply)
            while let next = delayed.popFirst(where: { !mustWait($0.part) }) {
                add(next.payload, next.part, next.reply)
            }
            scheduleWriteAndRead()
        }
    }

    /// Whether another message has begun, or others wait for that.
    private func mustWait(_ part: MessagePart) -> Bool {
        guard let openMessage else { return false }
        if case .part(_, openMessage) = part { return false }
        return true
    }

    private func add(
        _ payload: consuming any WebSocketPayload, _ part: MessagePart, _ reply: consuming @escaping Reply
    ) {
        lastNumber += 1
        let count = payload.count
        guard !hasEnded, !hasWriteFailed, machine.send(payload, part.framing, number: lastNumber) else {
            return reply(lateError ?? writeFailure ?? .webSocketIsClosed)
        }
        if case .part(let framing, let message) = part { openMessage = framing == .last ? nil : message }
        senders.append(Sender(number: lastNumber, isText: part.isText, count: count, reply: reply))
    }

    package func ping(reply: @escaping Reply) {
        guard !hasEnded, !hasWriteFailed, let number = machine.ping() else {
            return reply(lateError ?? writeFailure ?? .webSocketIsClosed)
        }
        log?.traceOnly(.webSocketPing(isSent: true))
        pings.append((number, reply))
        scheduleWriteAndRead()
    }

    /// Begins to close, even if the load is suspended. The messages that wait are sent before.
    package func close(_ frame: WebSocketCloseFrame) {
        guard !hasEnded else { return }
        isClosedByClient = true
        if isAwaitingClient { return endClosed() }
        guard machine.close(frame) else { return }
        noteClosing()
        resume()
        writeAndRead()
    }

    package var maximumMessageSize: Int {
        get { machine.maximumMessageSize }
        set { machine.maximumMessageSize = newValue }
    }

    /// - Parameter interval: Nanoseconds; nil for no pings.
    package func setPingInterval(_ interval: Int64?) {
        pingInterval = interval
        probe = nil
        armTimer()
    }

    /// The client's queue has room again, or a message was taken that the end waits for.
    package func resumeReading() {
        if isAwaitingClient { return awaitClient() }
        guard isReadingStopped else { return }
        isReadingStopped = false
        if hasWriteFailed, closeDeadline != nil { closeDeadline = loop.now &+ loop.limits.webSocketClose }
        writeAndRead()
    }

    // MARK: The connection

    package func connectionIsReady() {
        hasCompressed = false
        writeAndRead()
    }

    // The connection is open and stays as it is.
    package func connectionOpened() {}
    package func connectionSecured() {}
    package func connectionFailed(_ failure: ConnectionFailure) { end(failure.error) }
    package func connectionReceived(challenge question: ConnectionChallenge) -> Bool { false }
    package var proxyAuthorizer: (any ProxyAuthorizer)? { nil }
    package func connectionIsActive() {}

    /// In the next turn, for all that is asked for in this one.
    private func scheduleWriteAndRead() {
        guard !isCallAwaited, hasStarted, !isSuspended, !hasEnded else { return }
        isCallAwaited = true
        connection?.callAgain()
    }

    /// Writes and reads until the connection blocks or the client's queue is full.
    private func writeAndRead() {
        isCallAwaited = false
        guard hasStarted, !isWorking, !isSuspended, !hasEnded, let connection else { return }
        isWorking = true
        write(to: connection)
        if !hasEnded { read(from: connection) }
        // Pongs, and what TLS could not send before it had read.
        if !hasEnded, outputHead < output.count || machine.hasOutput { write(to: connection) }
        isWorking = false
        guard !hasEnded else { return }
        if !hasFault {
            if machine.isClosed, outputHead == output.count { return leaveClosed() }
            if hasWriteFailed, let writeFailure {
                if machine.receivedClose != nil { return leaveClosed() }
                let isReadable = inputHead < input.count || connection.mayHaveMore
                if isLost || wantsInput && !isReadable { return leaveLost(writeFailure) }
                if closeDeadline == nil { closeDeadline = loop.now &+ loop.limits.webSocketClose }
                // The pongs of pings may still come.
                failSenders(writeFailure)
                if hasEnded { return }
            }
        }
        // Only closing and pings move the deadline of an armed timer.
        if !timer.isArmed || closeDeadline != nil || pingInterval != nil { armTimer() }
    }

    private func write(to connection: any WebSocketTransport) {
        var budget = Self.budget
        while !hasWriteFailed, outputHead < output.count || encode() {
            guard budget > 0 else { return connection.callAgain() }
            // Retained, since the connection is called.
            let octets = output
            let written = octets.withUnsafeBytes { octets in
                connection.write(UnsafeRawBufferPointer(rebasing: octets[outputHead...]))
            }
            switch written {
            case .bytes(0), .wouldBlock: return
            case .bytes(let count):
                outputHead += count
                budget -= count
                if !connection.buffersWrites { sent(count) }
            case .failed(let failure): writeFailure = LoadError(failure)
            }
        }
    }

    /// Encodes what waits. False if nothing does, or the load has ended.
    private func encode() -> Bool {
        if outputHead > 0 {
            outputHead = 0
            if output.capacity > Self.keptOutput { output = [] } else { output.removeAll(keepingCapacity: true) }
        }
        guard !hasEnded, machine.hasOutput, !hasCompressed else { return false }
        switch machine.encode(into: &output, limit: Self.outputLength) {
        case .done: break
        case .pausing: leaveCompressing()
        case .outOfMemory:
            end(.outOfMemory)
            return false
        }
        return !output.isEmpty
    }

    private func leaveCompressing() {
        hasCompressed = true
        connection?.callAgain()
    }

    /// What waits to be sent, or a part of it, which the transport then has. Makes no calls.
    func takeOutput() -> ArraySlice<UInt8>? {
        guard !isSuspended, !hasEnded, !hasWriteFailed else { return nil }
        if outputHead == output.count {
            (output, outputHead) = ([], 0)
            guard machine.hasOutput, !hasCompressed else { return nil }
            switch machine.encode(into: &output, limit: Self.outputLength) {
            case .done: break
            case .pausing: leaveCompressing()
            case .outOfMemory:
                writeFailure = .outOfMemory
                connection?.callAgain()
                return nil
            }
        }
        defer { outputHead = output.count }
        return output[outputHead...]
    }

    /// Octets that the transport had taken have left its buffers.
    func transportSent(_ count: Int) {
        sent(count)
        // After the call, in which the transport may be sending.
        guard machine.isClosed else { return }
        connection?.callAgain()
    }

    private func sent(_ count: Int) {
        machine.sent(count)
        client?.load(self, didWrite: count)
        // The messages that wait are sent before the close frame, however long the connection takes for them. A server
        // that has closed reads only to see this end's close frame.
        if closeDeadline != nil, machine.receivedClose == nil {
            closeDeadline = loop.now &+ loop.limits.webSocketClose
        }
        while let number = machine.nextSent() {
            guard let sender = senders.popFirst(where: { $0.number <= number }) else { return }
            log?.traceOnly(.webSocketMessage(isSent: true, isText: sender.isText, bytes: sender.count))
            sender.reply(nil)
        }
    }

    private func read(from connection: any WebSocketTransport) {
        var budget = Self.budget
        while wantsInput {
            let isBuffered = inputHead < input.count
            guard isBuffered || connection.mayHaveMore else { return }
            guard budget > 0 else { return connection.callAgain() }
            if isBuffered {
                readBuffered(&budget)
                continue
            }
            let scratch = loop.scratch
            switch connection.read(into: scratch) {
            case .bytes(let count):
                budget -= count
                counts.received += Int64(count)
                lastReceived = loop.now
                probe = nil
                client?.load(self, didRead: count)
                var octets = UnsafeRawBufferPointer(rebasing: scratch.prefix(count))
                accept(&octets, &budget)
                if !octets.isEmpty, !hasEnded { input = Array(octets) }
            case .wouldBlock: return
            // The server has not said why (WS-13).
            case .end, .truncated: return lose(.networkConnectionLost)
            case .failed(let failure): return lose(LoadError(failure))
            }
        }
    }

    private func lose(_ error: LoadError) {
        isLost = true
        writeFailure = error
    }

    private func readBuffered(_ budget: inout Int) {
        let octets = input
        let start = inputHead
        (input, inputHead) = ([], 0)
        octets.withUnsafeBytes { whole in
            var rest = UnsafeRawBufferPointer(rebasing: whole[start...])
            accept(&rest, &budget)
            if !rest.isEmpty, !hasEnded { (input, inputHead) = (octets, octets.count - rest.count) }
        }
    }

    /// Whether to read on. After the client has closed, messages are dropped, and the server's close frame is waited
    /// for.
    private var wantsInput: Bool {
        !hasEnded && !hasFault && (!isReadingStopped || !machine.isOpen) && machine.receivedClose == nil
    }

    /// - Parameter budget: What may still be read in this turn. What comes out of a compressed message counts, and not
    ///   only what it came in.
    private func accept(_ octets: inout UnsafeRawBufferPointer, _ budget: inout Int) {
        // What was just read is accepted all the same.
        budget = max(budget, 1)
        do throws(WebSocketFailure) {
            while wantsInput, budget > 0, !octets.isEmpty {
                if let (isText, message) = machine.receiveWhole(&octets) {
                    handle(message, isText: isText)
                } else if let event = try machine.receive(&octets, decompressing: &budget) {
                    handle(event)
                } else {
                    break
                }
            }
        } catch {
            fault =
                switch error {
                case .protocolError, .invalidUTF8: .webSocketProtocolError
                case .messageTooBig: .webSocketMessageTooBig
                case .outOfMemory: .outOfMemory
                }
            closeDeadline = loop.now &+ loop.limits.webSocketClose
            client?.loadHasFault(self)
        }
    }

    /// Fails with the server's fault.
    package func fail() {
        if isCallAwaited { writeAndRead() }
        guard let fault, !hasEnded else { return }
        machine.fail()
        noteClosing()
        end(fault)
    }

    private func handle(_ message: UnsafeRawBufferPointer, isText: Bool) {
        log?.traceOnly(.webSocketMessage(isSent: false, isText: isText, bytes: message.count))
        counts.messages += Int64(message.count)
        if client?.load(self, didReceive: message, isText: isText) == false { isReadingStopped = true }
    }

    private func handle(_ event: WebSocketMachine.Event) {
        switch event {
        case .message(let isText, let octets): octets.withUnsafeBytes { handle($0, isText: isText) }
        case .pong(let number):
            log?.traceOnly(.webSocketPing(isSent: false))
            while let ping = pings.popFirst(where: { $0.number <= number }) { ping.reply(nil) }
        case .closed(let frame):
            record(.webSocketClosed(code: Int(frame.code ?? WebSocketCloseFrame.noCode)))
            noteClosing()
        }
    }

    // MARK: Time

    private func armTimer() {
        guard !isSuspended, !hasEnded else { return }
        var deadline = clock.nextCheck(
            at: loop.now, idle: nil, total: totalTimeout, countsSilence: false,
            shortest: loop.limits.shortestTimerPeriod)
        if let closeDeadline { deadline = min(deadline, closeDeadline) }
        if let probeDeadline { deadline = min(deadline, probeDeadline) }
        loop.arm(timer, at: deadline, for: self)
    }

    /// When a ping is due, or the connection counts as lost. Nil while this end does not read.
    private var probeDeadline: Int64? {
        guard let pingInterval, !isAwaitingClient, machine.isOpen, wantsInput else { return nil }
        return (probe ?? lastReceived) &+ pingInterval
    }

    package func timerFired(_ timer: LoopTimer) {
        let now = loop.now
        if clock.isOver(at: now, idle: nil, total: totalTimeout) {
            return isAwaitingClient ? endClosed() : end(.timedOut)
        }
        if let closeDeadline, now >= closeDeadline { return hasFault ? fail() : endUnanswered() }
        // Something may have arrived while the process was stopped.
        writeAndRead()
        if let probeDeadline, now >= probeDeadline {
            if probe != nil { return leaveLost(.timedOut) }
            probe = now
            log?.traceOnly(.webSocketPing(isSent: true))
            _ = machine.ping()
            writeAndRead()
        }
        armTimer()
    }

    private func noteClosing() {
        guard closeDeadline == nil else { return }
        closeDeadline = loop.now &+ loop.limits.webSocketClose
        if let frame = machine.closeFrame {
            log?.traceOnly(.webSocketCloses(code: Int(frame.code ?? WebSocketCloseFrame.noCode)))
        }
    }

    // MARK: The end

    /// The close frames have been exchanged, or this end's cannot be sent.
    private func leaveClosed() {
        guard !isClosedByClient else { return endClosed() }
        leaveConnection()
        isAwaitingClient = true
        awaitClient()
        // While the end waits, because a client may receive only after its message is sent or its ping answered.
        if !hasEnded { failOperations(.webSocketIsClosed) }
    }

    /// Nothing more comes, and the server has not closed.
    private func leaveLost(_ error: LoadError) {
        writeFailure = error
        guard !isClosedByClient else { return endClosed() }
        connection?.closeWriting()
        leaveConnection()
        isAwaitingClient = true
        client?.load(self, willFailWith: error)
        awaitClient()
        if !hasEnded { failOperations(error) }
    }

    /// Ends if the client has taken in the messages before the end of the connection.
    private func awaitClient() {
        guard !hasEnded, !isSuspended else { return }
        switch client?.loadAwaits(self) ?? .nothing {
        case .nothing: return endClosed()
        case .messages: closeDeadline = loop.now &+ loop.limits.webSocketClose
        case .caller: closeDeadline = loop.now &+ loop.limits.webSocketResumption
        }
        armTimer()
    }

    private func endClosed() {
        guard let frame = machine.receivedClose else { return end(writeFailure ?? .networkConnectionLost) }
        client?.load(self, didCloseWith: frame.code ?? WebSocketCloseFrame.noCode, reason: frame.reason)
        finish(nil)
    }

    /// The server takes or answers no close frame. If it has sent one, this end may still go (RFC 6455 §7.1.1).
    private func endUnanswered() {
        if machine.receivedClose != nil { endClosed() } else { end(writeFailure ?? .timedOut) }
    }

    private func end(_ error: LoadError) {
        guard !hasEnded else { return }
        // A close frame with the reason, if no messages wait before it.
        if !hasWriteFailed, !error.isConnectionLoss { writeLast() }
        finish(error)
    }

    /// Writes what the connection takes at once.
    private func writeLast() {
        while let connection {
            if outputHead == output.count {
                outputHead = 0
                output.removeAll(keepingCapacity: true)
                guard machine.hasOutput, machine.encode(into: &output, limit: Self.outputLength) == .done,
                    !output.isEmpty
                else { return }
            }
            let octets = output
            let written = octets.withUnsafeBytes { octets in
                connection.write(UnsafeRawBufferPointer(rebasing: octets[outputHead...]))
            }
            guard case .bytes(let count) = written, count > 0 else { return }
            outputHead += count
        }
    }

    private func finish(_ error: LoadError?) {
        guard let client else { return }
        let late = error ?? .webSocketIsClosed
        (lateError, hasEnded) = (late, true)
        self.client = nil
        loop.disarm(timer)
        // After an exchange of close frames the server closes first. A connection that has failed does not wait for it
        // (RFC 6455 §7.1.1, §7.1.7).
        if error != nil { connection?.closeWriting() }
        leaveConnection()
        if let error, !isAwaitingClient { client.load(self, willFailWith: error) }
        failOperations(late)
        record(.responseEnded(bytes: counts.received, decoded: counts.messages))
        if let error { record(.failed(code: error.code, decoded: counts.messages)) }
        record(.ended)
        client.load(self, didEndWith: error, body: .nothing)
    }

    private func leaveConnection() {
        connection?.closeAfterAcknowledgement()
        connection = nil
        (output, outputHead, input, inputHead) = ([], 0, [], 0)
    }

    private func failOperations(_ error: LoadError) {
        failSenders(error)
        while let ping = pings.popFirst() { ping.reply(error) }
    }

    private func failSenders(_ error: LoadError) {
        while let sender = senders.popFirst() { sender.reply(error) }
        while let next = delayed.popFirst() { next.reply(error) }
    }

    private func record(_ kind: LoadEvent.Kind) {
        if let log { log.record(kind, at: EventLog.now) }
    }
}

/// What a WebSocket is opened on.
enum WebSocketCarrier {
    case connection(DetachedConnection)
    case tunnel(WebSocketTunnel)
}
