internal import LoadingProtocols
package import LoadingSemantics
internal import LoadingTransport

/// Establishes a tunnel through a proxy to a host, over a stream to the proxy. Confined to the stream's loop. Reports
/// the outcome once, and nothing after `cancel`.
///
/// A 407 (AUTH-28) is answered on the same connection if the proxy keeps it open. Otherwise the creator of this tunnel
/// makes another connection.
final class ProxyTunnel: ByteStreamOwner {
    enum Outcome {
        case open(ByteStream)
        case failed(ProxyFailure)
        /// The request must be repeated on another connection to the proxy.
        case again(Introduction)
    }

    /// The credentials for the first request of a connection to a proxy.
    struct Introduction {
        let authorization: String
        /// The authorizer that made it.
        let authorizer: any ProxyAuthorizer
    }

    private let stream: ByteStream
    private let proxy: ProxyServer
    private let key: ConnectionKey
    private let destination: ProxyDestination
    /// Whether the host may send first. Bytes after the proxy's last byte then stay in the socket.
    private let serverMaySpeakFirst: Bool
    private weak var challengeDelegate: (any ConnectionChallengeDelegate)?
    /// One of the two. They are stepped in place, because a copy would cost as much as what was received so far.
    private var connectTunnel: ConnectTunnel?
    private var socksHandshake: SOCKSHandshake?
    private var introduction: Introduction?
    /// Authorizes the current request.
    private var authorizer: (any ProxyAuthorizer)?
    /// The authorizer's number for the current request.
    private var round: UInt64 = 0
    private var unsent: ArraySlice<UInt8> = []
    private var outcome: ((Outcome) -> Void)?
    /// The head of the current response, if it is a 407.
    private var challenge: ResponseHead?
    private let challenges: ChallengePresenter
    /// Whether the connection takes no further request.
    private var isSpent = false
    /// How often the stream is read in a turn of the loop: a proxy may send faster than single bytes are taken.
    private static let readsTogether = 4096

    init(
        over stream: ByteStream, to key: ConnectionKey, by proxy: ProxyServer, serverMaySpeakFirst: Bool,
        introduction: Introduction?, for challengeDelegate: (any ConnectionChallengeDelegate)?,
        outcome: @escaping (Outcome) -> Void
    ) {
        self.stream = stream
        self.proxy = proxy
        self.key = key
        self.serverMaySpeakFirst = serverMaySpeakFirst
        self.introduction = introduction
        self.challengeDelegate = challengeDelegate
        challenges = ChallengePresenter(to: challengeDelegate, about: key, on: stream.loop)
        self.outcome = outcome
        destination = ProxyDestination(
            traffic: key.isSecure ? .https : .http, host: key.host, port: key.port)
        socksHandshake = SOCKSHandshake(to: destination, through: proxy)
        if socksHandshake == nil { connectTunnel = ConnectTunnel(to: destination) }
        stream.owner = self
    }

    func start() {
        if let action = socksHandshake?.start() { return perform(action) }
        authorizer = introduction?.authorizer ?? challengeDelegate?.proxyAuthorizer
        request(introduction?.authorization ?? authorizer?.authorization(for: proxy, to: destination))
    }

    func cancel() {
        outcome = nil
        challenges.withdraw()
        stream.close()
    }

    func challengeDelegateChanged() { challenges.delegateChanged() }

    /// The loop's time at which the proxy last sent bytes, though they may be a part of an answer only. 0 before the
    /// first.
    var lastArrival: Int64 { stream.lastArrival }

    func streamBecameReady(_ stream: ByteStream) {
        write()
        read()
        // TLS may have had to read before it could write.
        write()
    }

    private func write() {
        while !unsent.isEmpty, outcome != nil {
            switch unsent.withUnsafeBytes({ stream.write($0) }) {
            case .bytes(let count): unsent = unsent.dropFirst(count)
            case .wouldBlock: return
            // Read what the proxy has sent first; reading then reports the end.
            case .failed: return unsent = []
            }
        }
    }

    private func read() {
        var reads = 0
        while outcome != nil {
            reads += 1
            guard reads <= Self.readsTogether else { return stream.callAgain() }
            // A head is short, so it may be read one byte at a time.
            let most = serverMaySpeakFirst && challenge == nil ? 1 : stream.loop.scratch.count
            let scratch = UnsafeMutableRawBufferPointer(rebasing: stream.loop.scratch[..<most])
            switch stream.read(into: scratch) {
            case .bytes(let count):
                // The proxy sends data without a request.
                if challenges.isOpen { return isSpent = true }
                take(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                if outcome != nil, !stream.mayHaveMore { return }
            case .wouldBlock: return
            case .end, .truncated, .failed: return connectionEnded()
            }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        while outcome != nil, let action = socksHandshake?.next(&input) {
            if action == .open, !input.isEmpty { return end(.failed(.socks(.connectionLost))) }
            perform(action)
        }
        while outcome != nil, !challenges.isOpen, let event = connectTunnel?.next(&input) {
            apply(event, hasMore: !input.isEmpty)
        }
    }

    private func perform(_ action: SOCKSHandshake.Action) {
        switch action {
        case .send(let bytes):
            unsent += bytes
            write()
        case .open: end(.open(stream))
        case .fail(let failure): end(.failed(.socks(failure)))
        }
    }

    private func connectionEnded() {
        if let action = socksHandshake?.connectionEnded() { perform(action) }
        if connectTunnel != nil, challenges.isOpen { return isSpent = true }
        if let event = connectTunnel?.connectionEnded() { return apply(event, hasMore: false) }
        end(.failed(.tunnelLost))
    }

    private func end(_ result: Outcome) {
        guard let outcome else { return }
        self.outcome = nil
        if case .open = result {} else { stream.close() }
        outcome(result)
    }

    // MARK: CONNECT

    private func request(_ authorization: String?) {
        do throws(HTTP1EncodingError) {
            guard let bytes = try connectTunnel?.request(authorization: authorization) else { return }
            unsent = bytes[...]
        } catch {
            return end(.failed(.badCredentials))
        }
        if let authorizer, let connectTunnel {
            round = authorizer.tunnelRequested(connectTunnel.authority, connectTunnel.requestFields)
        }
        write()
    }

    /// - Parameter hasMore: Whether bytes follow the response, although the host does not send first.
    private func apply(_ event: ConnectTunnel.Event, hasMore: Bool) {
        if let head = event.head { authorizer?.tunnelAnswered(head, to: round) }
        switch event {
        case .open(let head):
            guard verify(head) else { return }
            end(hasMore ? .failed(.malformedTunnelResponse("bytes behind the answer")) : .open(stream))
        case .challenged(let head): challenge = head
        case .challengeEnded(let mayReuse):
            if !mayReuse || hasMore { isSpent = true }
            ask()
        case .refused(let head):
            if verify(head) { end(.failed(.tunnelRefused(status: head.status))) }
        case .failed(let failure): end(.failed(failure))
        }
    }

    /// A response of a proxy that fails to authenticate itself is discarded.
    private func verify(_ head: ResponseHead) -> Bool {
        if authorizer?.verify(head, of: proxy, to: destination) ?? true { return true }
        end(.failed(.malformedTunnelResponse("the proxy's own proof is wrong")))
        return false
    }

    // MARK: Authentication

    private func ask() {
        guard let challenge else { return end(.failed(.tunnelLost)) }
        // A different authorizer does not continue the authentication of the previous one.
        let authorizer = challengeDelegate?.proxyAuthorizer
        if authorizer !== self.authorizer { isSpent = true }
        self.authorizer = authorizer
        let about = TunnelChallenge(
            head: challenge, proxy: proxy, destination: destination, stream: stream)
        let isPresented = challenges.present(.tunnel(about)) { [weak self] in
            self?.ask()
        } answer: { [weak self] in
            self?.take($0)
        }
        if isPresented { return }
        end(.failed(.tunnelRefused(status: challenge.status)))
    }

    private func take(_ answer: ConnectionChallenge.Answer) {
        guard outcome != nil else { return }
        guard case .authorization(let value, let isBound) = answer, let authorizer else {
            return end(.failed(.tunnelRefused(status: 407)))
        }
        // The proxy may have closed the connection without an event on the loop yet.
        if isSpent || !stream.isSilent {
            // A proxy that closes between two steps of an authentication exchange rejects it.
            let introduction = Introduction(authorization: value, authorizer: authorizer)
            return end(isBound ? .failed(.tunnelLost) : .again(introduction))
        }
        challenge = nil
        request(value)
    }
}

extension ConnectTunnel.Event {
    /// The head of a response that was just received.
    fileprivate var head: ResponseHead? {
        switch self {
        case .open(let head), .challenged(let head), .refused(let head): head
        case .challengeEnded, .failed: nil
        }
    }
}

/// Authenticates to proxies when a tunnel is requested, and observes the requests and responses. Called on the
/// connection's loop.
package protocol ProxyAuthorizer: AnyObject {
    /// The preemptive value of `Proxy-Authorization`; nil for none.
    func authorization(for proxy: ProxyServer, to destination: ProxyDestination) -> String?
    /// The proxy has responded without a challenge. Returns false if it fails to authenticate itself.
    func verify(_ head: ResponseHead, of proxy: ProxyServer, to destination: ProxyDestination) -> Bool
    /// A request is sent. Returns a number that identifies it when its response arrives.
    func tunnelRequested(_ authority: String, _ fields: HTTPFields) -> UInt64
    /// The proxy has responded to the request with that number.
    func tunnelAnswered(_ head: ResponseHead, to round: UInt64)
}
