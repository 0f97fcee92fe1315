/// The next step of a handshake.
package enum TLSHandshakeStep: Sendable {
    case complete
    /// Continue when the descriptor is readable.
    case wantsRead
    /// Continue when the descriptor is writable.
    case wantsWrite
    /// Answer with `TLSStream.decideTrust` at any time, then continue.
    case wantsTrust(TLSPeer)
    /// Answer with `TLSStream.provideIdentity` at any time, then continue.
    case wantsIdentity(TLSIdentityRequest)
    case failed(TLSError)
}

/// The server's authentication data, for the trust decision.
package struct TLSPeer: Sendable {
    /// The host of the connection.
    package let serverName: String
    package let chain: CertificateChain
    /// The stapled OCSP response; for a resumed session, that of its first handshake. Before TLS 1.3 it arrives only
    /// after the decision.
    package let stapledResponse: [UInt8]?

    package init(serverName: String, chain: CertificateChain, stapledResponse: [UInt8]?) {
        self.serverName = serverName
        self.chain = chain
        self.stapledResponse = stapledResponse
    }
}

/// The answer to `TLSHandshakeStep.wantsTrust`.
package enum TLSTrustVerdict: Sendable {
    /// Trust the server, regardless of the evaluation.
    case accept
    /// The evaluator trusts the chain at this time (seconds since 1970). A stapled OCSP response that arrives later in
    /// the handshake, as before TLS 1.3, can still revoke the trust.
    case acceptUnlessRevoked(by: TrustEvaluator, at: Int64)
    /// The handshake fails with this error.
    case reject(TLSError)
}

/// A server's request for a client certificate.
package struct TLSIdentityRequest: Equatable, Sendable {
    /// The host of the connection.
    package let serverName: String
    /// The accepted issuers in DER. Empty if the server does not restrict them.
    package let distinguishedNames: [[UInt8]]
    /// The accepted signature schemes (RFC 8446 §4.2.3).
    package let signatureSchemes: [UInt16]

    package init(serverName: String, distinguishedNames: [[UInt8]], signatureSchemes: [UInt16] = []) {
        self.serverName = serverName
        self.distinguishedNames = distinguishedNames
        self.signatureSchemes = signatureSchemes
    }
}
