/// A server or proxy whose certificates were refused, with what they were evaluated with.
package struct UntrustedPeer: Sendable, Equatable {
    /// The name that the certificate must have.
    package let host: String
    /// In DER, the leaf first.
    package let certificates: [[UInt8]]
    /// The stapled OCSP response; empty without one.
    package let stapledResponse: [UInt8]

    package init(host: String, certificates: [[UInt8]], stapledResponse: [UInt8]) {
        self.host = host
        self.certificates = certificates
        self.stapledResponse = stapledResponse
    }
}
