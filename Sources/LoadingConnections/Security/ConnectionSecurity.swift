internal import CLoadingLinux
package import LoadingTransport

/// The TLS side of one session's connections: what they may negotiate, whom they trust, and which TLS sessions can be
/// resumed. Never shared between sessions (TLS-8). Confined to the session's loop.
package final class ConnectionSecurity {
    private let configuration: TLSConfiguration
    /// Made with the first https connection: a process that speaks plain HTTP never starts OpenSSL.
    private var madeContext: TLSContext?
    private var resumptions: [Origin: [TLSResumption]] = [:]

    private static let mostOrigins = 256
    private static let mostPerOrigin = 4

    package init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    func context() throws(TLSError) -> TLSContext {
        if let madeContext { return madeContext }
        let context = try TLSContext(configuration)
        madeContext = context
        return context
    }

    /// The default evaluation: the configuration's roots, the host's name, the time of day (TLS-4).
    func verdict(on peer: TLSPeer) -> TLSTrustVerdict {
        guard configuration.evaluatesTrust else { return .accept }
        guard let evaluator = madeContext?.evaluator else {
            return .reject(TLSError(code: TLSError.secureConnectionFailed, reason: "no evaluator"))
        }
        return evaluator.verdict(on: peer, at: cll_wall_now() / 1_000_000_000)
    }

    func takeResumption(for origin: Origin) -> TLSResumption? {
        let now = cll_wall_now() / 1_000_000_000
        while let last = resumptions[origin]?.last {
            if last.isSingleUse || last.expiry <= now { resumptions[origin]?.removeLast() }
            if last.expiry > now { return last }
        }
        return nil
    }

    func keep(_ resumption: TLSResumption, for origin: Origin) {
        if resumptions.count >= Self.mostOrigins, resumptions[origin] == nil { resumptions = [:] }
        resumptions[origin, default: []].append(resumption)
        if let count = resumptions[origin]?.count, count > Self.mostPerOrigin { resumptions[origin]?.removeFirst() }
    }

    /// Forgets every session: after a flush nothing of the old connections lives on.
    func forgetResumptions() { resumptions = [:] }
}
