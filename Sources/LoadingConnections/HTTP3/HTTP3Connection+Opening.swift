internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The handshake, the trust decision, and the tickets for later connections.
extension HTTP3Connection {
    func reportOpened() {
        guard isHandshakeComplete, let opened, !isClosed else { return }
        self.opened = nil
        opened(nil)
    }

    /// Whether the default evaluation trusted the server when the session that is resumed here was established.
    var wasEvaluated: Bool { session.isResumed && resumed?.wasEvaluated == true }

    /// The server's request for a client certificate; nil if it sends none.
    var identityRequest: TLSIdentityRequest? {
        guard session.isIdentityRequested else { return nil }
        return TLSIdentityRequest(serverName: primaryOrigin.key.host, distinguishedNames: session.issuers)
    }

    /// The stapled OCSP response; for a resumed session, that of its first handshake.
    var stapledResponse: [UInt8]? { session.isResumed ? resumed?.stapledResponse : session.stapledResponse }

    /// Maps a TLS alert of the server to the error for a missing or rejected client certificate (TLS-5).
    func meaning(of error: HTTP3Error) -> LoadError {
        guard session.isIdentityRequested else { return LoadError(error, clientCertificate: .notRequested) }
        return LoadError(error, clientCertificate: identity == nil ? .notProvided : .provided)
    }

    /// Stores a ticket for the next connection, with the trust decision of this connection. If the server requested a
    /// client certificate, no ticket is stored, so that the server requests it again.
    func received(_ resumption: HTTP3Resumption) {
        guard hasBegun else { return resumptions.append(resumption) }
        if session.isIdentityRequested { return }
        pool.security.keep(
            resumption, stapledResponse: stapledResponse, of: generation, wasEvaluated: isTrusted, until: sessionEnd,
            for: sessionPeer)
    }

    /// The server is trusted. From now on the pool owns the connection.
    func begin(isTrusted: Bool) {
        self.isTrusted = isTrusted
        sessionEnd =
            if session.isResumed, let resumed {
                resumed.end
            } else {
                ConnectionSecurity.sessionEnd(
                    of: certificates.first.flatMap { Certificate(der: $0) }, at: pool.security.wallTime)
            }
        hasBegun = true
        for resumption in resumptions { received(resumption) }
        resumptions = []
        session.trust()
        pool.loop.arm(idleTimer, at: pool.loop.now + pool.loop.limits.multiplexedIdle, for: self)
        planTurn()
    }

    /// The server is not trusted. Sends it a TLS alert and closes the connection.
    func reject() {
        session.reject(alert: 42)
        flush()
        close()
    }
}
