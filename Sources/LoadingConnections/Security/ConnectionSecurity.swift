internal import CLoadingLinux
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
    private var sessions: [Peer: [Session]] = [:]

    /// With whom a TLS session was made. Of connections that carry HTTP more may be asked than of others, and a session that
    /// is less cannot be resumed there.
    private struct Peer: Hashable {
        var origin: Origin
        var carriesHTTP: Bool
    }

    /// A TLS session that can be resumed.
    struct Session {
        let resumption: TLSResumption
        /// Whether the default evaluation trusts the server; else somebody who was asked did.
        let wasEvaluated: Bool
    }

    private static let mostOrigins = 256
    private static let mostPerOrigin = 4

    package init(_ configuration: TLSConfiguration, transportSecurity: AppTransportSecurity? = nil) {
        self.configuration = configuration
        self.transportSecurity = transportSecurity
    }

    /// What a connection that carries HTTP has to be like (TLS-2); nil if it needs to be like nothing in particular.
    func demands(on origin: Origin) -> TransportSecurityDemands? { transportSecurity?.demands(on: origin.host) }

    /// Whether a connection may speak TLS 1.3, without which there is no QUIC.
    var allowsTLS13: Bool { configuration.maximumVersion.rawValue >= TLSVersion.tls13.rawValue }

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
        let peer = Peer(origin: origin, carriesHTTP: carriesHTTP)
        let now = cll_wall_now() / 1_000_000_000
        while let last = sessions[peer]?.last {
            let resumption = last.resumption
            if resumption.isSingleUse || resumption.expiry <= now { sessions[peer]?.removeLast() }
            if resumption.expiry > now { return last }
        }
        return nil
    }

    func keep(_ session: Session, for origin: Origin, carriesHTTP: Bool) {
        let peer = Peer(origin: origin, carriesHTTP: carriesHTTP)
        if sessions.count >= Self.mostOrigins, sessions[peer] == nil { sessions = [:] }
        sessions[peer, default: []].append(session)
        if let count = sessions[peer]?.count, count > Self.mostPerOrigin { sessions[peer]?.removeFirst() }
    }

    /// Forgets every session: after a flush nothing of the old connections lives on.
    func forgetResumptions() { sessions = [:] }
}
