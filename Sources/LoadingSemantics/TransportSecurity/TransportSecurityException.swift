/// How a domain of `NSExceptionDomains` differs from what App Transport Security wants of all.
struct TransportSecurityException: Sendable, Equatable {
    var allowsInsecureLoads: Bool
    var requirements: TransportSecurityRequirements

    /// None.
    static let strictest = TransportSecurityException()

    private init() {
        allowsInsecureLoads = false
        requirements = .standard
    }

    init(_ reader: inout PropertyListReader) {
        allowsInsecureLoads = reader.boolean("NSExceptionAllowsInsecureHTTPLoads") ?? false
        requirements = .standard
        // Who may do without TLS may do with any.
        requirements.needsTrust = !allowsInsecureLoads
        if reader.contains("NSExceptionMinimumTLSVersion") {
            // It may have been meant to be any of them.
            requirements.minimumVersion = .tls13
            if let text = reader.string("NSExceptionMinimumTLSVersion") {
                if let version = TransportSecurityRequirements.Version(text) {
                    requirements.minimumVersion = version
                } else {
                    reader.report(.notVersion, about: "NSExceptionMinimumTLSVersion")
                }
            }
        }
        requirements.needsForwardSecrecy = reader.boolean("NSExceptionRequiresForwardSecrecy") ?? true
        requirements.needsCertificateTransparency = reader.boolean("NSRequiresCertificateTransparency") ?? false
    }
}
