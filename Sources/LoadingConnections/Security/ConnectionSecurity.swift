package import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The TLS side of one session's connections: what they may negotiate, which servers they trust, and which TLS sessions
/// they can resume. Never shared between sessions (TLS-8). Confined to the session's loop.
package final class ConnectionSecurity {
    private let configuration: TLSConfiguration
    private let clock: LoopClock
    /// The requirements on connections that carry HTTP; nil for none.
    private let transportSecurity: AppTransportSecurity?
    /// Made for the first https connection: a process that uses only http never loads OpenSSL.
    private var madeContext: TLSContext?
    private var sessions = ResumableSessions<Peer, Session>()
    /// How often all TLS sessions were discarded. Sessions from connections of an earlier generation are not kept.
    private(set) var generation = 0
    private var quicSessions = ResumableSessions<QUICPeer, QUICSession>()

    /// The peer of a TLS session. Connections that carry HTTP may have stricter requirements than others, and must not
    /// resume a session that does not meet them.
    private struct Peer: Hashable {
        var key: ConnectionKey
        var carriesHTTP: Bool
    }

    /// A TLS session that can be resumed.
    struct Session: ResumableSession {
        let resumption: TLSResumption
        /// Whether the default evaluation trusted the server; otherwise a delegate did.
        let wasEvaluated: Bool
        /// `sessionEnd(of:at:)` of the handshake with certificates from which it descends.
        let end: Int64

        var isSingleUse: Bool { resumption.isSingleUse }
        var expiry: Int64 { min(resumption.expiry, end) }
    }

    /// The peer of a QUIC session.
    struct QUICPeer: Hashable {
        let key: ConnectionKey
        let hostPort: HostPort
    }

    /// A QUIC session that can be resumed.
    struct QUICSession: ResumableSession {
        let resumption: HTTP3Resumption
        /// The OCSP response that was stapled to the certificates of the session.
        let stapledResponse: [UInt8]?
        /// As in `Session`.
        let wasEvaluated: Bool
        let end: Int64
        let expiry: Int64

        var isSingleUse: Bool { true }
    }

    /// - Parameter clock: That of the session's loop.
    package init(
        _ configuration: TLSConfiguration, transportSecurity: AppTransportSecurity? = nil,
        clock: LoopClock
    ) {
        self.configuration = configuration
        self.clock = clock
        allowsHTTP3 =
            HTTP3Session.isAvailable && configuration.maximumVersion.rawValue >= TLSVersion.tls13.rawValue
        self.transportSecurity = transportSecurity
    }

    /// The requirements on a connection that carries HTTP (TLS-2); nil for none.
    func requirements(on key: ConnectionKey) -> TransportSecurityRequirements? {
        transportSecurity?.requirements(on: key.host)
    }

    /// Whether this build has HTTP/3, and the configuration allows TLS 1.3, which QUIC requires.
    let allowsHTTP3: Bool

    func context() throws(TLSError) -> TLSContext {
        if let madeContext { return madeContext }
        let context = try TLSContext(configuration)
        madeContext = context
        return context
    }

    /// Makes the default evaluation while the loop is lent. Reports it on the loop, never before this returns.
    func evaluate(
        _ peer: TLSPeer, wantsKeys: Bool, on loop: EventLoop, completion: @escaping (ServerEvaluation) -> Void
    ) {
        let evaluator: TrustEvaluator
        do throws(TLSError) { evaluator = try context().evaluator } catch {
            return loop.runLater { completion(ServerEvaluation(failedWith: error)) }
        }
        let answer = LoopBox(completion)
        let time = wallTime
        loop.callOut(
            CalledOut {
                let evaluation = ServerEvaluation(of: peer, by: evaluator, at: time, wantsKeys: wantsKeys)
                loop.post { answer.value(evaluation) }
            })
    }

    func takeSession(for key: ConnectionKey, carriesHTTP: Bool) -> Session? {
        sessions.take(for: Peer(key: key, carriesHTTP: carriesHTTP), at: wallTime)
    }

    func keep(_ session: Session, of generation: Int, for key: ConnectionKey, carriesHTTP: Bool) {
        guard generation == self.generation else { return }
        sessions.keep(session, for: Peer(key: key, carriesHTTP: carriesHTTP))
    }

    func takeSession(for peer: QUICPeer) -> QUICSession? { quicSessions.take(for: peer, at: wallTime) }

    func keep(
        _ resumption: HTTP3Resumption, stapledResponse: [UInt8]?, of generation: Int, wasEvaluated: Bool,
        until end: Int64, for peer: QUICPeer
    ) {
        guard generation == self.generation else { return }
        let expiry = wallTime + min(resumption.lifetime, TimeLimits.standard.longestTicketLifetime)
        quicSessions.keep(
            QUICSession(
                resumption: resumption, stapledResponse: stapledResponse, wasEvaluated: wasEvaluated, end: end,
                expiry: min(expiry, end)),
            for: peer)
    }

    /// When a TLS session ends at the latest, and with it all sessions that descend from it: with the server's
    /// certificate, and after a week. In seconds since 1970.
    ///
    /// A resumption brings new tickets, but no new proof that the server has the key of its certificate (RFC 8446
    /// §4.6.1). And an expired certificate would be refused, though a full handshake may bring its successor.
    static func sessionEnd(of leaf: Certificate?, at now: Int64) -> Int64 {
        let longest = now + TimeLimits.standard.longestTicketLifetime
        // A certificate that has expired was accepted by a delegate, which is asked again each time.
        guard let until = leaf?.validity?.until, until > now else { return longest }
        return min(until, longest)
    }

    /// Seconds since 1970.
    var wallTime: Int64 { clock.wallTime }

    /// Discards all sessions: after a flush, no state of the old connections is reused.
    func forgetResumptions() {
        generation += 1
        sessions = ResumableSessions()
        quicSessions = ResumableSessions()
    }
}
