internal import CLoadingLinux
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The TLS side of one session's connections: what they may negotiate, whom they trust, and which TLS sessions can be
/// resumed. Never shared between sessions (TLS-8). Confined to the session's loop.
package final class ConnectionSecurity {
    private let configuration: TLSConfiguration
    /// What is asked of connections that carry HTTP; nil if nothing is.
    private let transportSecurity: AppTransportSecurity?
    /// Made with the first https connection: a process that speaks plain HTTP never starts OpenSSL.
    private var madeContext: TLSContext?
    private var sessions = ResumableSessions<Peer, Session>()
    /// How often all sessions were forgotten. What a connection of before that is told is not kept.
    private(set) var generation = 0
    private var quicSessions = ResumableSessions<QUICPeer, QUICSession>()

    /// With whom a TLS session was made. Of connections that carry HTTP more may be asked than of others, and a session that
    /// is less cannot be resumed there.
    private struct Peer: Hashable {
        var origin: Origin
        var carriesHTTP: Bool
    }

    /// A TLS session that can be resumed.
    struct Session: ResumableSession {
        let resumption: TLSResumption
        /// Whether the default evaluation trusts the server; else somebody who was asked did.
        let wasEvaluated: Bool

        var isSingleUse: Bool { resumption.isSingleUse }
        var expiry: Int64 { resumption.expiry }
    }

    /// For whom a session was made over QUIC, and where.
    struct QUICPeer: Hashable {
        let origin: Origin
        let place: HostPort
    }

    /// A session over QUIC that can be resumed.
    struct QUICSession: ResumableSession {
        let resumption: HTTP3Resumption
        /// As in `Session`.
        let wasEvaluated: Bool
        let expiry: Int64

        var isSingleUse: Bool { true }
    }

    package init(_ configuration: TLSConfiguration, transportSecurity: AppTransportSecurity? = nil) {
        self.configuration = configuration
        allowsHTTP3 =
            HTTP3Session.isAvailable && configuration.maximumVersion.rawValue >= TLSVersion.tls13.rawValue
        self.transportSecurity = transportSecurity
    }

    /// What a connection that carries HTTP has to be like (TLS-2); nil if it needs to be like nothing in particular.
    func requirements(on origin: Origin) -> TransportSecurityRequirements? {
        transportSecurity?.requirements(on: origin.host)
    }

    /// Whether this build has HTTP/3, and a connection may speak TLS 1.3, which QUIC needs.
    let allowsHTTP3: Bool

    func context() throws(TLSError) -> TLSContext {
        if let madeContext { return madeContext }
        let context = try TLSContext(configuration)
        madeContext = context
        return context
    }

    /// The default evaluation; its outcome is told on the loop, never before this returns.
    func evaluate(
        _ peer: TLSPeer, wantsKeys: Bool, on loop: EventLoop, tell: @escaping (ServerEvaluation.Outcome) -> Void
    ) {
        guard let evaluator = madeContext?.evaluator else {
            let error = TLSError(code: TLSError.secureConnectionFailed, reason: "no evaluator")
            let answer = LoopBox(tell)
            return loop.post { answer.value(ServerEvaluation.Outcome(verdict: .reject(error), keys: [])) }
        }
        loop.callOut(ServerEvaluation(of: peer, by: evaluator, wantsKeys: wantsKeys, on: loop, tell: tell))
    }

    func takeSession(for origin: Origin, carriesHTTP: Bool) -> Session? {
        sessions.take(for: Peer(origin: origin, carriesHTTP: carriesHTTP), at: Self.today)
    }

    func keep(_ session: Session, of generation: Int, for origin: Origin, carriesHTTP: Bool) {
        guard generation == self.generation else { return }
        sessions.keep(session, for: Peer(origin: origin, carriesHTTP: carriesHTTP))
    }

    func takeSession(for peer: QUICPeer) -> QUICSession? { quicSessions.take(for: peer, at: Self.today) }

    func keep(_ resumption: HTTP3Resumption, of generation: Int, wasEvaluated: Bool, for peer: QUICPeer) {
        guard generation == self.generation else { return }
        let expiry = Self.today + min(resumption.lifetime, TimeLimits.standard.longestTicketLifetime)
        quicSessions.keep(
            QUICSession(resumption: resumption, wasEvaluated: wasEvaluated, expiry: expiry), for: peer)
    }

    /// Seconds since 1970.
    private static var today: Int64 { cll_wall_now() / 1_000_000_000 }

    /// Forgets every session: after a flush nothing of the old connections lives on.
    func forgetResumptions() {
        generation += 1
        sessions = ResumableSessions()
        quicSessions = ResumableSessions()
    }
}
