/// What App Transport Security wants of a secure connection, beyond what any must have (TLS-2).
package struct TransportSecurityRequirements: Sendable, Equatable {
    /// A version of TLS; the raw value is its number on the wire.
    package enum Version: UInt16, Sendable {
        case tls10 = 0x0301
        case tls11 = 0x0302
        case tls12 = 0x0303
        case tls13 = 0x0304

        /// As a value of `NSExceptionMinimumTLSVersion`.
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

    /// What is amiss with a connection. The load ends with −1200.
    package enum Violation: String, Error, Sendable {
        case trust = "the server is not trusted"
        case version = "the version of TLS is too old"
        case forwardSecrecy = "the cipher suite has no forward secrecy"
        case pins = "the server's keys are not those that are pinned"
    }

    /// By the default evaluation, whatever somebody says who is asked about the server.
    package var needsTrust: Bool
    /// Nil if any will do that the configuration allows.
    package var minimumVersion: Version?
    /// By an ephemeral key exchange over elliptic curves.
    package var needsForwardSecrecy: Bool
    /// Asked for by `NSRequiresCertificateTransparency`. Nothing here can tell whether it is met.
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

    /// What is wanted where nothing else is said.
    static let standard = TransportSecurityRequirements(
        needsTrust: true, minimumVersion: .tls12, needsForwardSecrecy: true)

    /// Whether an evaluation has to be made although somebody has said that the server is trusted.
    package var needsEvaluation: Bool { needsTrust || pins != nil }

    /// What a connection breaks first of the requirements; nil if it meets them.
    ///
    /// - Parameters:
    ///   - isTrusted: Whether the default evaluation trusts the server.
    ///   - version: The number of the TLS version, `TLSVersion.rawValue`.
    ///   - cipher: The number of the cipher suite in IANA's registry.
    ///   - keys: The SHA-256 digests of the keys (SubjectPublicKeyInfo, in DER) of the chain that the evaluation has
    ///     built, the leaf first. Not of what the server has sent: anyone can send any certificate along. Where it does
    ///     not trust the server, that of the leaf alone.
    package func violation(isTrusted: Bool, version: UInt16, cipher: UInt16, keys: [[UInt8]]) -> Violation? {
        if needsTrust, !isTrusted { return .trust }
        if let minimumVersion, version < minimumVersion.rawValue { return .version }
        if needsForwardSecrecy, version < Version.tls13.rawValue, !Self.forwardSecretSuites.contains(cipher) {
            return .forwardSecrecy
        }
        if let pins, !pins.areMet(by: keys) { return .pins }
        return nil
    }

    /// TLS_ECDHE_ECDSA_ and TLS_ECDHE_RSA_ with AES or ChaCha20. With TLS 1.3 every suite has forward secrecy.
    private static let forwardSecretSuites: Set<UInt16> = [
        0xC009, 0xC00A, 0xC013, 0xC014, 0xC023, 0xC024, 0xC027, 0xC028, 0xC02B, 0xC02C, 0xC02F, 0xC030, 0xCCA8, 0xCCA9,
    ]
}
