/// What the rules want to know of a chain of certificates, as far as it could be built.
package struct CertificateChainFacts: Sendable, Equatable {
    /// Why the last certificate is trusted.
    package enum Anchor: Sendable, Equatable {
        /// It is one of the roots that came with the system.
        case system
        /// The user, the administrator or the program has added it.
        case added
        /// It is not: the chain ends there because no issuer is known.
        case none
    }

    /// The leaf first, and last the one that is trusted, if there is one. Each is signed by the next; that the signatures
    /// are right, is for others to see.
    package var certificates: [CertificateFacts]
    package var anchor: Anchor

    package init(_ certificates: [CertificateFacts], anchor: Anchor) {
        self.certificates = certificates
        self.anchor = anchor
    }
}
