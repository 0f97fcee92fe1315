/// What a server has shown of itself when trust in it is to be decided.
package struct TLSPeer: Sendable {
    /// The host that was asked for.
    package let serverName: String
    package let chain: CertificateChain
    /// The OCSP response that came with the certificate. Before TLS 1.3 it comes only after the decision.
    package let stapledResponse: [UInt8]?

    package init(serverName: String, chain: CertificateChain, stapledResponse: [UInt8]?) {
        self.serverName = serverName
        self.chain = chain
        self.stapledResponse = stapledResponse
    }
}
