internal import CLoadingLinux
package import LoadingTransport

/// The TLS side of one session's connections: what they may negotiate, whom they trust, and which TLS sessions can be
/// resumed. Never shared between sessions (TLS-8). Confined to the session's loop.
package final class ConnectionSecurity {
    private let configuration: TLSConfiguration
    /// Made with the first https connection: a process that speaks plain HTTP never starts OpenSSL.
    private var madeContext: TLSContext?
    private var sessions: [Origin: [Session]] = [:]

    /// A TLS session that can be resumed.
    struct Session {
        let resumption: TLSResumption
        /// Whether the default evaluation trusts the server; else somebody who was asked did.
        let wasEvaluated: Bool
    }

    private static let mostOrigins = 256
    private static let mostPerOrigin = 4

    package init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    func context() throws(TLSError) -> TLSContext {
        if let madeContext { return madeContext }
        let context = try TLSContext(configuration)
        madeContext = context
        return context
    }

    /// The default evaluation: the configuration's roots, the host's name, the time of day (TLS-4). On a thread of its
    /// own, since roots are read from a disk; `verdict` is called on the loop, never before this returns.
    func evaluate(_ peer: TLSPeer, on loop: EventLoop, verdict: @escaping (TLSTrustVerdict) -> Void) {
        let answer = LoopBox(verdict)
        guard let evaluator = madeContext?.evaluator else {
            let error = TLSError(code: TLSError.secureConnectionFailed, reason: "no evaluator")
            return loop.post { answer.value(.reject(error)) }
        }
        TrustThreads.shared.run {
            let verdict = evaluator.verdict(on: peer, at: cll_wall_now() / 1_000_000_000)
            loop.post { answer.value(verdict) }
        }
    }

    func takeSession(for origin: Origin) -> Session? {
        let now = cll_wall_now() / 1_000_000_000
        while let last = sessions[origin]?.last {
            let resumption = last.resumption
            if resumption.isSingleUse || resumption.expiry <= now { sessions[origin]?.removeLast() }
            if resumption.expiry > now { return last }
        }
        return nil
    }

    func keep(_ session: Session, for origin: Origin) {
        if sessions.count >= Self.mostOrigins, sessions[origin] == nil { sessions = [:] }
        sessions[origin, default: []].append(session)
        if let count = sessions[origin]?.count, count > Self.mostPerOrigin { sessions[origin]?.removeFirst() }
    }

    /// Forgets every session: after a flush nothing of the old connections lives on.
    func forgetResumptions() { sessions = [:] }
}
