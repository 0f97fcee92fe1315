/// Describes why a chain is rejected, for people.
///
/// Text from certificates is untrusted and may be displayed on terminals and in logs. Only printable characters are
/// included, and the length is limited.
package struct CertificateRefusalMessage {
    let chain: CertificateChainFacts
    let host: String?
    let now: Int64
    /// Summaries of the certificates, and of the issuer of the last one.
    let names: [String?]
    let lastIssuer: String?
    /// Whether the certificate is for TLS clients, not servers.
    let isForClients: Bool

    package init(
        _ chain: CertificateChainFacts, for host: String?, at now: Int64, names: [String?], lastIssuer: String?,
        isForClients: Bool = false
    ) {
        self.chain = chain
        self.host = host
        self.now = now
        self.names = names
        self.lastIssuer = lastIssuer
        self.isForClients = isForClients
    }

    private var certificates: [CertificateFacts] { chain.certificates }

    package func text(_ refusal: CertificateRefusal) -> String {
        switch refusal {
        case .unknownRoot: unknownRoot
        case .selfSigned: "\(name(0)) is self-signed and not among the trusted certificates"
        case .notYetValid:
            whose({ now < $0.validFrom }) { "\(name($0)) is not valid before \(date(\.validFrom, of: $0))" }
        case .expired: whose({ now > $0.validUntil }) { "\(name($0)) expired on \(date(\.validUntil, of: $0))" }
        case .badSignature: "a signature in the chain of \(name(0)) is not that of its issuer"
        case .malformed: whose({ $0.encoding == nil }) { "\(name($0)) is malformed: it is no DER of X.509" }
        case .unknownExtension: "a critical extension in the chain of \(name(0)) is not known"
        case .unreadableExtension:
            whose({ $0.encoding?.hasUnreadableExtension != false }) { "an extension of \(name($0)) cannot be read" }
        case .duplicateExtension:
            whose({ $0.encoding?.hasDuplicateExtension == true }) { "\(name($0)) has an extension twice" }
        case .emptySubject: emptySubject
        case .notAnAuthority: notAnAuthority
        case .pathTooLong: "there are more issuers in the chain of \(name(0)) than their path lengths allow"
        case .outsideConstraints: "a name of \(name(0)) is outside the name constraints of its issuers"
        case .unsupportedConstraints:
            whose({ $0.encoding?.constraints.isUnsupported == true }) {
                "the name constraints of \(name($0)) are critical and of an unsupported kind"
            }
        case .noPolicy: "no certificate policy is valid for the whole chain of \(name(0)), which has to have one"
        case .wrongPurpose: wrongPurpose
        case .wrongHost: wrongHost
        case .weakKey: weakKey
        case .weakSignature:
            whose({ ![.sha2, .edwards].contains($0.signature) }) {
                "\(name($0)) is signed with \(certificates[$0].signature == .sha1 ? "SHA-1" : "a weak hash"), not with SHA-2"
            }
        case .lastsTooLong: lastsTooLong
        case .revoked: "\(name(0)) is revoked by its issuer"
        case .unknownRevocation: "no response says that \(name(0)) is not revoked"
        }
    }

    /// A sentence about the first certificate at fault, or about the leaf.
    private func whose(_ isAtFault: (CertificateFacts) -> Bool, _ sentence: (Int) -> String) -> String {
        guard !certificates.isEmpty else { return "there is no certificate" }
        return sentence(certificates.firstIndex(where: isAtFault) ?? 0)
    }

    private func name(_ index: Int) -> String {
        let text = names.indices.contains(index) ? names[index].map(Self.printable) : nil
        return text.map { "“\($0)”" } ?? (index == 0 ? "the certificate" : "an issuer's certificate")
    }

    private func date(_ field: KeyPath<CertificateFacts, Int64>, of index: Int) -> String {
        let seconds = certificates[index][keyPath: field]
        return seconds == .max || seconds == .min ? "a date that cannot be read" : HTTPDate.text(seconds)
    }

    private var unknownRoot: String {
        guard let last = certificates.last else { return "there is no certificate" }
        if last.isSelfIssued { return "the chain ends in \(name(certificates.count - 1)), which is no trusted root" }
        let issuer = lastIssuer.map { " “\(Self.printable($0))”" } ?? ""
        return "the issuer\(issuer) of \(name(certificates.count - 1)) is neither in the chain nor a trusted root"
    }

    private var emptySubject: String {
        whose({ $0.encoding?.hasSubject == false && ($0.isAuthority || $0.encoding?.hasCriticalNames == false) }) {
            certificates[$0].isAuthority
                ? "an issuer's certificate has no subject"
                : "the certificate has no subject, and its subject alternative names are not critical"
        }
    }

    private var notAnAuthority: String {
        guard let index = certificates.indices.dropFirst().first(where: { !certificates[$0].isAuthority }) else {
            return "an issuer in the chain of \(name(0)) may not sign certificates (key usage)"
        }
        return "\(name(index)) may not issue certificates: its basic constraints do not say that it is a CA"
    }

    private var wrongPurpose: String {
        if isForClients { return "\(name(0)), or an issuer of it, is not for TLS clients" }
        for (index, certificate) in certificates.enumerated() where index == 0 || index < certificates.count - 1 {
            guard let purposes = certificate.purposes else {
                if index > 0 || chain.anchor != .system && certificate.validFrom < CertificateRules.july2019 {
                    continue
                }
                return "\(name(index)) has no extended key usage, which has to name TLS servers"
            }
            if index == 0 ? !purposes.contains(.server) : purposes.isDisjoint(with: [.server, .any]) {
                return "\(name(index)) is not for TLS servers by its extended key usage"
            }
        }
        return "\(name(0)) is not for TLS servers by its key usage"
    }

    private var wrongHost: String {
        guard let leaf = certificates.first else { return "there is no certificate" }
        let requested = Self.printable(host ?? "")
        let listed = leaf.names.compactMap { name -> String? in
            switch name {
            case .host(let host): Self.printable(host)
            case .address(let bytes): Self.address(bytes)
            case .other: nil
            }
        }
        guard !listed.isEmpty else {
            return
                "\(name(0)) is for no host: it has no subject alternative name that is a host's, and “\(requested)” was asked for"
        }
        // A few names are enough for the message.
        let rest = listed.count > 4 ? " and \(listed.count - 3) more" : ""
        let shown = listed.prefix(listed.count > 4 ? 3 : 4).joined(separator: ", ")
        let parent = requested.drop { $0 != "." }.dropFirst().lowercased()
        let isTooWide = !parent.isEmpty && listed.contains { $0.lowercased() == "*.\(parent)" }
        let reason = isTooWide ? "; a wildcard right below a public suffix is for none" : ""
        return "\(name(0)) is for \(shown)\(rest), not for “\(requested)”\(reason)"
    }

    private var weakKey: String {
        let index = certificates.firstIndex { certificate in
            switch certificate.key {
            case .rsa(let bits): bits < 2048
            case .elliptic(let bits): bits < 256
            case .other: true
            }
        }
        guard let index else { return "a key in the chain of \(name(0)) is too weak" }
        return switch certificates[index].key {
        case .rsa(let bits): "\(name(index)) has an RSA key of \(bits) bits, which have to be 2048"
        case .elliptic(let bits): "\(name(index)) has a key on a curve of \(bits) bits, which have to be 256"
        case .other: "\(name(index)) has a key of an unknown kind"
        }
    }

    private var lastsTooLong: String {
        guard let leaf = certificates.first,
            let longest = CertificateRules.longestLifetime(of: leaf, anchor: chain.anchor)
        else { return "\(name(0)) is valid for too long" }
        let seconds = DeltaSeconds.difference(leaf.validUntil, leaf.validFrom)
        let days = seconds / CertificateRules.day
        let more = seconds % CertificateRules.day
        return
            "\(name(0)) is valid for \(days) days\(more > 0 ? " and \(more) seconds" : ""); \(longest.days) days are the most"
    }

    /// The limit for text from a certificate, in characters.
    private static let mostCharacters = 100

    /// Replaces characters that could control a terminal or change the direction of the text.
    package static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(mostCharacters) {
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                result.unicodeScalars.append("\u{FFFD}")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return text.unicodeScalars.count > mostCharacters ? result + "…" : result
    }

    private static func address(_ bytes: [UInt8]) -> String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        guard bytes.count == 16 else { return "an address of \(bytes.count) bytes" }
        return stride(from: 0, to: 16, by: 2)
            .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }.joined(separator: ":")
    }
}
