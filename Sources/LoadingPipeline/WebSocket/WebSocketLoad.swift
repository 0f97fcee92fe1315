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
/// that receives one message after the other gets the closing after the last. If the last one was given to the caller
/// of an `async` method, the end waits until it asks for the next one, but no longer than
/// `TimeLimits.webSocketResumption`. What waits to be sent or answered fails before this wait.
package final class WebSocketLoad: Load, LoopTimerTarget, StreamConnectionOwner {
    let loop: EventLoop
    let log: EventLog?
    // Exclusive access to what each message changes is not checked: an access never lasts while other code is called.

    /// Retained until the end.
    @exclusivity(unchecked) var client: (any WebSocketClient)?
    @exclusivity(unchecked) var connection: (any WebSocketTransport)?
    @exclusivity(unchecked) var machine: WebSocketMachine

    /// Encoded octets that the connection has not taken, from `outputHead` on.
    @exclusivity(unchecked) var output: [UInt8] = []
    @exclusivity(unchecked) var outputHead = 0
    /// Octets that were read and not given to the machine yet, from `inputHead` on.
    @exclusivity(unchecked) private var input: [UInt8]
    @exclusivity(unchecked) private var inputHead = 0
    /// Whether the client has enough messages for now.
    @exclusivity(unchecked) private var isReadingStopped = false
    @exclusivity(unchecked) var senders = FIFOQueue<Sender>()
    /// The message of several parts that has begun. Other messages wait until its last part.
    @exclusivity(unchecked) var openMessage: Int?
    @exclusivity(unchecked) var delayed =
        FIFOQueue<(payload: any WebSocketPayload, part: MessagePart, reply: Reply)>()
    @exclusivity(unchecked) var pings = FIFOQueue<(number: Int, reply: Reply)>()
    @exclusivity(unchecked) var lastNumber = 0

    /// False until the client has passed on the operations that it was asked for before the connection was open.
    @exclusivity(unchecked) private var hasStarted = false
    @exclusivity(unchecked) var isSuspended = false
    @exclusivity(unchecked) private var isWorking = false
    /// Whether the connection will call in the next turn, for what the client has asked for in this one.
    @exclusivity(unchecked) private var isCallAwaited = false
    /// Whether as much was compressed in this turn as one may take. The next turn goes on.
    @exclusivity(unchecked) var hasCompressed = false
    /// Why nothing can be sent any more. The server's close frame may still have arrived before.
    var writeFailure: LoadError? { didSet { hasWriteFailed = writeFailure != nil } }
    @exclusivity(unchecked) private(set) var hasWriteFailed = false
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
    private(set) var lateError: LoadError?
    @exclusivity(unchecked) package private(set) var hasEnded = false
    @exclusivity(unchecked) private var counts = (received: Int64(0), messages: Int64(0))

    private let timer = LoopTimer()
    @exclusivity(unchecked) var deadlines: WebSocketDeadlines

    /// How many octets one connection may read, decompress, or write in a turn before other connections get their turn.
    static let budget = 256 * 1024

    /// - Parameters:
    ///   - clock: That of the opening handshake, from which the total timeout runs.
    ///   - totalTimeout: In seconds.
    init(
        on stream: WebSocketStream, _ agreement: WebSocketHandshake.Agreement, maximumMessageSize: Int,
        in environment: LoadingEnvironment, clock: LoadClock, totalTimeout: Double, log: EventLog?,
        client: any WebSocketClient
    ) {
        loop = environment.loop
        deadlines = WebSocketDeadlines(clock, totalTimeout: totalTimeout, at: loop.now)
        self.log = log
        self.client = client
        input = []
        machine = WebSocketMachine(
            maximumMessageSize: maximumMessageSize, compression: agreement.compression,
            maskingKeys: WebSocketMaskingKeys(KernelRandom.fill))
        switch stream {
        case .connection(let handed):
            input = handed.rest
            connection = StreamConnection(handed, in: environment.pool, owner: self)
        case .tunnel(let tunnel):
            tunnel.takeOver(by: self)
            connection = tunnel
        }
        log?.record(.webSocketOpened(subprotocol: agreement.subprotocol, isCompressed: agreement.compression != nil))
    }

    // MARK: From the client

    package func start(_ reason: LoadEvent.FetchReason) {
        loop.checkConfinement(of: "A load")
        hasStarted = true
        // They arrived together with the handshake's response.
        if !input.isEmpty {
            counts.received += Int64(input.count)
            client?.load(self, didRead: input.count)
        }
        writeAndRead()
    }

    /// Stops reading, writing and the timeouts (T-2).
    package func suspend() {
        loop.checkConfinement(of: "A load")
        // What was asked for before is written before.
        if isCallAwaited { writeAndRead() }
        guard !isSuspended, !hasEnded else { return }
        isSuspended = true
        client?.load(self, holdsMessages: true)
        deadlines.suspend(at: loop.now)
        loop.disarm(timer)
    }

    package func resume() {
        loop.checkConfinement(of: "A load")
        guard isSuspended, !hasEnded else { return }
        isSuspended = false
        deadlines.resume(at: loop.now)
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

    /// Begins to close, even if the load is suspended. The messages that wait are sent before.
    package func close(_ frame: WebSocketCloseFrame) {
        loop.checkConfinement(of: "A load")
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
        loop.checkConfinement(of: "A load")
        deadlines.setPingInterval(interval)
        armTimer()
    }

    /// The client's queue has room again, or a message was taken that the end waits for.
    package func resumeReading() {
        loop.checkConfinement(of: "A load")
        if isAwaitingClient { return awaitClient() }
        guard isReadingStopped else { return }
        isReadingStopped = false
        if hasWriteFailed, deadlines.closing != nil { deadlines.closing = loop.now &+ loop.limits.webSocketClose }
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
    func scheduleWriteAndRead() {
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
                if deadlines.closing == nil { deadlines.closing = loop.now &+ loop.limits.webSocketClose }
                // The pongs of pings may still come.
                failSenders(writeFailure)
                if hasEnded { return }
            }
        }
        // Only closing and pings move the deadline of an armed timer.
        if !timer.isArmed || deadlines.mayMove { armTimer() }
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
                deadlines.received(at: loop.now)
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
            deadlines.closing = loop.now &+ loop.limits.webSocketClose
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
            log?.record(.webSocketClosed(code: Int(frame.code ?? WebSocketCloseFrame.noCode)))
            noteClosing()
        }
    }

    // MARK: Time

    private func armTimer() {
        guard !isSuspended, !hasEnded else { return }
        loop.arm(timer, at: deadlines.next(at: loop.now, isReading: isReading), for: self)
    }

    /// Whether silence means something.
    private var isReading: Bool { !isAwaitingClient && machine.isOpen && wantsInput }

    package func timerFired(_ timer: LoopTimer) {
        let now = loop.now
        if deadlines.isOver(at: now) { return isAwaitingClient ? endClosed() : end(.timedOut) }
        if let closing = deadlines.closing, now >= closing { return hasFault ? fail() : endUnanswered() }
        // Something may have arrived while the process was stopped.
        writeAndRead()
        switch isReading ? deadlines.probe(at: now) : .nothing {
        case .nothing: break
        case .lost: return leaveLost(.timedOut)
        case .ping:
            log?.traceOnly(.webSocketPing(isSent: true))
            _ = machine.ping()
            writeAndRead()
        }
        armTimer()
    }

    private func noteClosing() {
        guard deadlines.closing == nil else { return }
        deadlines.closing = loop.now &+ loop.limits.webSocketClose
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
        case .messages: deadlines.closing = loop.now &+ loop.limits.webSocketClose
        case .caller: deadlines.closing = loop.now &+ loop.limits.webSocketResumption
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

    func end(_ error: LoadError) {
        guard !hasEnded else { return }
        // A close frame with the reason, if no messages wait before it.
        if !hasWriteFailed, !error.isConnectionLoss { writeLast() }
        finish(error)
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
        log?.record(.responseEnded(bytes: counts.received, decoded: counts.messages))
        if let error { log?.record(.failed(code: error.code, decoded: counts.messages)) }
        log?.record(.ended)
        client.load(self, didEndWith: error, body: .nothing)
    }

    private func leaveConnection() {
        connection?.closeAfterAcknowledgement()
        connection = nil
        (output, outputHead, input, inputHead) = ([], 0, [], 0)
    }
}

/// What a WebSocket is opened on: an HTTP/1.1 connection, or a stream of a multiplexed one.
enum WebSocketStream {
    case connection(DetachedConnection)
    case tunnel(WebSocketTunnel)
}
