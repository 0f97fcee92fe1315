/// What a server says about the client certificate it wants.
package struct TLSIdentityRequest: Equatable, Sendable {
    /// The host that was asked for.
    package let serverName: String
    /// The DER forms of the issuers it accepts. None: it does not say.
    package let distinguishedNames: [[UInt8]]
    /// The signature schemes it accepts (RFC 8446 §4.2.3).
    package let signatureSchemes: [UInt16]

    package init(serverName: String, distinguishedNames: [[UInt8]], signatureSchemes: [UInt16] = []) {
        self.serverName = serverName
        self.distinguishedNames = distinguishedNames
        self.signatureSchemes = signatureSchemes
    }
}
