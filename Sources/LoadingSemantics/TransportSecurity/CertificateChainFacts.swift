/// The properties of a certificate chain that `CertificateRules` checks.
package struct CertificateChainFacts: Sendable, Equatable {
    /// Why the last certificate is trusted.
    package enum Anchor: Sendable, Equatable {
        /// It is one of the roots that are part of the system.
        case system
        /// The user, the administrator or the application has added it.
        case added
        /// It is not trusted: its issuer is unknown.
        case none
    }

    /// The leaf first, the trust anchor last, if there is one. Each is issued by the next. The TLS library verifies the
    /// signatures.
    package var certificates: [CertificateFacts]
    package var anchor: Anchor

    package init(_ certificates: [CertificateFacts], anchor: Anchor) {
        self.certificates = certificates
        self.anchor = anchor
    }
}
