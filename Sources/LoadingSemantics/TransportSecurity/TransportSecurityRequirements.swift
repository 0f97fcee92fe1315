/// The requirements of App Transport Security for a secure connection (TLS-2).
package struct TransportSecurityRequirements: Sendable, Equatable {
    /// A TLS version. The raw value is its number on the wire.
    package enum Version: UInt16, Sendable {
        case tls10 = 0x0301
        case tls11 = 0x0302
        case tls12 = 0x0303
        case tls13 = 0x0304

        /// Parses a value of `NSExceptionMinimumTLSVersion`.
        package init?(_ text: String) {
            switch text {
            case "TLSv1.0": self = .tls10
            case "TLSv1.1": self = .tls11
            case "TLSv1.2": self = .tls12
            case "TLSv1.3": self = .tls13
            default: return nil
            }
        }
    }

    /// The first violated requirement. The load ends with −1200.
    package enum Violation: String, Error, Sendable {
        case trust = "the server is not trusted"
        case version = "the version of TLS is too old"
        case forwardSecrecy = "the cipher suite has no forward secrecy"
        case pins = "the server's keys are not those that are pinned"

        /// Whether the server's certificates are the reason, and not what was negotiated.
        package var isAboutCertificates: Bool {
            switch self {
            case .trust, .pins: true
            case .version, .forwardSecrecy: false
            }
        }
    }

    /// The default evaluation must trust the server, even if the delegate trusts it.
    package var needsTrust: Bool
    /// Nil for the minimum of the configuration.
    package var minimumVersion: Version?
    /// An ECDHE key exchange.
    package var needsForwardSecrecy: Bool
    /// Set by `NSRequiresCertificateTransparency`. Not enforced.
    package var needsCertificateTransparency: Bool
    package var pins: ServerPins?

    package init(
        needsTrust: Bool = false, minimumVersion: Version? = nil, needsForwardSecrecy: Bool = false,
        needsCertificateTransparency: Bool = false, pins: ServerPins? = nil
    ) {
        self.needsTrust = needsTrust
        self.minimumVersion = minimumVersion
        self.needsForwardSecrecy = needsForwardSecrecy
        self.needsCertificateTransparency = needsCertificateTransparency
        self.pins = pins
    }

    /// The requirements of hosts without an exception.
    static let standard = TransportSecurityRequirements(
        needsTrust: true, minimumVersion: .tls12, needsForwardSecrecy: true)

    /// Whether the server must be evaluated even if the delegate trusts it.
    package var needsEvaluation: Bool { needsTrust || pins != nil }

    /// The first requirement that a connection violates; nil if it satisfies all.
    ///
    /// - Parameters:
    ///   - isTrusted: Whether the default evaluation trusts the server.
    ///   - version: The number of the TLS version, `TLSVersion.rawValue`.
    ///   - cipher: The number of the cipher suite in IANA's registry.
    ///   - keys: SHA-256 digests of the keys (SubjectPublicKeyInfo in DER) of the verified chain, the leaf first. Not
    ///     of the certificates that the server sent, which may include unrelated ones. If the server is not trusted,
    ///     only that of the leaf.
    package func violation(isTrusted: Bool, version: UInt16, cipher: UInt16, keys: [[UInt8]]) -> Violation? {
        if needsTrust, !isTrusted { return .trust }
        if let minimumVersion, version < minimumVersion.rawValue { return .version }
        if needsForwardSecrecy, version < Version.tls13.rawValue, !Self.forwardSecretSuites.contains(cipher) {
            return .forwardSecrecy
        }
        if let pins, !pins.areMet(by: keys) { return .pins }
        return nil
    }

    /// TLS_ECDHE_ECDSA_ and TLS_ECDHE_RSA_ with AES or ChaCha20. All suites of TLS 1.3 have forward secrecy.
    private static let forwardSecretSuites: Set<UInt16> = [
        0xC009, 0xC00A, 0xC013, 0xC014, 0xC023, 0xC024, 0xC027, 0xC028, 0xC02B, 0xC02C, 0xC02F, 0xC030, 0xCCA8, 0xCCA9,
    ]
}
