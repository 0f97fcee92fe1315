package import FoundationEssentials
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// Gets one file or listing from an FTP server: a control connection, whose protocol is in `FTPConversation`, and a
/// data connection. Confined to the pool's loop. The pool provides the resolver but does not own the connection; each
/// load makes its own.
///
/// The data connection uses the address of the control connection, whatever address the server sends. Otherwise a
/// server could make the client connect to hosts that only the client can reach. Through a proxy it uses the same host
/// name.
///
/// Back-pressure: while `isPaused` is true, nothing is read from the data connection, so the kernel's buffer fills and
/// the TCP window closes. The control connection carries little data and is always read.
package final class FTPConnection: ByteStreamOwner, ConnectionChallengeDelegate {
    private let key: ConnectionKey
    private let pool: ConnectionPool
    private weak var observer: (any FTPConnectionObserver)?
    private var conversation: FTPConversation
    private var parser = FTPReplyParser()
    private var connector: TransportConnector?
    private var dataConnector: TransportConnector?
    /// The last challenge of the proxy.
    private var question: ConnectionChallenge?
    private var control: ByteStream?
    private var data: ByteStream?
    /// The bytes that the control connection's socket has not accepted yet.
    private var unsent: [UInt8] = []
    /// Whether the bytes on the data connection belong to the requested transfer.
    private var isTransferring = false
    private var hasAllData = false
    private var receivedCount: Int64 = 0
    private var isPaused = false
    private var isReading = false
    private var isOver = false

    /// The number of bytes of a connection that one turn reads before other work on the loop runs.
    private static let readBudget = 256 * 1024

    package init(
        to url: FTPURL, _ request: FTPRequest, as login: FTPLogin, service: NetworkService, by pool: ConnectionPool,
        through proxy: ProxyServer?, observer: any FTPConnectionObserver
    ) {
        key = ConnectionKey(
            isSecure: false, host: url.host, port: url.port, service: service,
            proxyMode: proxy.map { ProxyMode.tunnel($0) })
        self.pool = pool
        self.observer = observer
        conversation = FTPConversation(request, as: login)
    }

    /// Starts the load; every outcome is reported in a later turn.
    package func start() {
        let connector = TransportConnector(to: key, in: pool, serverMaySpeakFirst: true, for: self) { [weak self] in
            self?.connectorEnded($0)
        }
        self.connector = connector
        connector.onEvent = { [weak self] in self?.observer?.ftpRecorded($0) }
        connector.start()
    }

    /// Ends the load; nothing is reported any more.
    package func cancel() {
        isOver = true
        observer = nil
        connector?.cancel()
        connector = nil
        dataConnector?.cancel()
        dataConnector = nil
        question = nil
        control?.close()
        data?.close()
        control = nil
        data = nil
    }

    /// Pauses or resumes reading of the data connection. Resuming takes effect in a later turn.
    package func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if !paused, !isReading, let data, data.mayHaveMore { data.callAgain() }
    }

    // MARK: Connecting

    package var pendingPhase: PendingPhase? { isAsking ? nil : connector?.pendingPhase }

    /// Whether a challenge of the proxy is open. The connection waits for its answer.
    private var isAsking: Bool { question?.isOpen ?? false }

    /// The error of a load that has timed out.
    package var timeoutError: LoadError {
        guard let proxyMode = key.proxyMode, (pendingPhase ?? dataConnector?.pendingPhase) != nil else {
            return .timedOut
        }
        return proxyMode.timeoutError
    }

    private func connectorEnded(_ outcome: Result<ByteStream, ConnectionFailure>) {
        switch outcome {
        case .failure(let failure):
            let observer = observer
            cancel()
            observer?.ftpFailedToConnect(failure)
        case .success(let stream):
            connector = nil
            stream.owner = self
            control = stream
            let facts = ConnectionFacts(of: stream, to: key, protocolName: "ftp", isReused: false)
            observer?.ftpRecorded(.connectionAssigned(facts))
            // The greeting may have arrived already.
            if stream.mayHaveMore { stream.callAgain() }
        }
    }

    private func connectData(to port: UInt16) {
        var host = key.host
        var destinations: ConnectionDestinations?
        if key.proxyMode == nil {
            guard let address = control?.remoteAddress else { return end(.networkConnectionLost) }
            host = address.description
            // The address was the destination already.
            destinations = ConnectionDestinations()
        }
        let target = ConnectionKey(
            isSecure: false, host: host, port: port, service: key.service, proxyMode: key.proxyMode)
        let connector = TransportConnector(
            to: target, in: pool, destinations: destinations, serverMaySpeakFirst: true, for: self
        ) { [weak self] outcome in
            guard let self else { return }
            dataConnector = nil
            switch outcome {
            case .failure(let failure): end(failure.error)
            case .success(let stream):
                stream.owner = self
                data = stream
                perform(conversation.connected())
            }
        }
        dataConnector = connector
        connector.start()
    }

    // MARK: Challenges of the proxy

    func handshakeReceived(challenge question: ConnectionChallenge) -> Bool {
        self.question = question
        return observer?.ftpReceived(challenge: question) ?? false
    }

    func handshakeContinues() { observer?.ftpContinues() }

    var proxyAuthorizer: (any ProxyAuthorizer)? { observer?.proxyAuthorizer }

    // MARK: Readiness

    package func streamBecameReady(_ stream: ByteStream) {
        guard !isOver else { return }
        if stream === control {
            flush()
            receiveReplies()
        } else if stream === data {
            receiveData()
        }
    }

    // MARK: The control connection

    private func receiveReplies() {
        var budget = Self.readBudget
        while !isOver, let control {
            guard budget > 0 else { return control.callAgain() }
            let scratch = pool.loop.scratch
            switch control.read(into: scratch) {
            case .bytes(let count):
                budget -= count
                observer?.ftpIsActive()
                parse(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                if !control.mayHaveMore { return }
            case .wouldBlock: return
            case .end, .truncated, .failed: return controlEnded()
            }
        }
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        do throws(FTPFailure) {
            while !isOver, let reply = try parser.next(&input) { perform(conversation.received(reply)) }
        } catch {
            end(LoadError(error))
        }
    }

    private func controlEnded() {
        control?.close()
        control = nil
        perform(conversation.connectionEnded())
    }

    private func send(_ bytes: [UInt8]) {
        unsent += bytes
        flush()
    }

    private func flush() {
        guard let control, !unsent.isEmpty else { return }
        switch unsent.withUnsafeBytes({ control.write($0) }) {
        case .bytes(let count): unsent.removeFirst(count)
        case .wouldBlock: break
        // Read what the server sent before it closed; reading then reports the end.
        case .failed: unsent = []
        }
    }

    // MARK: The data connection

    private func receiveData() {
        guard isTransferring, !isReading else { return }
        isReading = true
        defer { isReading = false }
        var budget = Self.readBudget
        while !isOver, !isPaused, !hasAllData, let data {
            guard budget > 0 else { return data.callAgain() }
            let scratch = pool.loop.scratch
            switch data.read(into: scratch) {
            case .bytes(let count):
                budget -= count
                receivedCount += Int64(count)
                observer?.ftpReceived(Data(UnsafeRawBufferPointer(rebasing: scratch[..<count])))
            case .wouldBlock: return
            case .end, .truncated:
                hasAllData = true
                data.close()
                self.data = nil
                perform(conversation.dataEnded(after: receivedCount))
            case .failed(let failure): return end(LoadError(failure))
            }
        }
    }

    // MARK: Actions of the conversation

    private func perform(_ actions: [FTPConversation.Action]) {
        for action in actions where !isOver {
            switch action {
            case .send(let bytes): send(bytes)
            case .connect(let port): connectData(to: port)
            case .begin(let transfer):
                isTransferring = true
                observer?.ftpBegins(transfer)
                // No new event is guaranteed for bytes that arrived earlier.
                if let data, !isReading { data.callAgain() }
            case .refusedLogin(let reply):
                let observer = observer
                cancel()
                observer?.ftpRefusedLogin(reply)
            case .complete: end(nil)
            case .fail(let failure): end(LoadError(failure))
            }
        }
    }

    private func end(_ error: LoadError?) {
        guard !isOver else { return }
        let observer = observer
        cancel()
        observer?.ftpEnded(error)
    }
}

/// Observes an `FTPConnection`, on its loop.
package protocol FTPConnectionObserver: AnyObject {
    func ftpRecorded(_ event: LoadEvent.Kind)
    /// The server has sent bytes, whatever they are.
    func ftpIsActive()
    /// Authenticates to proxies.
    var proxyAuthorizer: (any ProxyAuthorizer)? { get }
    /// A proxy needs an answer. Return false to apply the default.
    func ftpReceived(challenge question: ConnectionChallenge) -> Bool
    /// The challenge was answered, and the connection is made further.
    func ftpContinues()
    /// The server could not be reached. The last call.
    func ftpFailedToConnect(_ failure: ConnectionFailure)
    /// The bytes that follow belong to the requested transfer.
    func ftpBegins(_ transfer: FTPTransfer)
    func ftpReceived(_ data: Data)
    /// The server refuses the login. The last call.
    func ftpRefusedLogin(_ reply: FTPReply)
    /// The load has ended. The last call.
    func ftpEnded(_ error: LoadError?)
}
