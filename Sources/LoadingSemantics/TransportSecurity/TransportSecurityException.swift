/// An entry of `NSExceptionDomains`.
struct TransportSecurityException: Sendable, Equatable {
    var allowsInsecureLoads: Bool
    var requirements: TransportSecurityRequirements

    /// No exception.
    static let strictest = TransportSecurityException()

    private init() {
        allowsInsecureLoads = false
        requirements = .standard
    }

    init(_ reader: inout PropertyListReader) {
        allowsInsecureLoads = reader.boolean("NSExceptionAllowsInsecureHTTPLoads") ?? false
        requirements = .standard
        // A domain that allows cleartext also allows untrusted TLS.
        requirements.needsTrust = !allowsInsecureLoads
        if reader.contains("NSExceptionMinimumTLSVersion") {
            // If the value is invalid, the strictest version applies.
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
