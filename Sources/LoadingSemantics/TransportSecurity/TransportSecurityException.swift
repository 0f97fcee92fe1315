/// How a domain of `NSExceptionDomains` differs from what App Transport Security wants of all.
struct TransportSecurityException: Sendable, Equatable {
    var allowsInsecureLoads: Bool
    var demands: TransportSecurityDemands

    /// None.
    static let strictest = TransportSecurityException()

    private init() {
        allowsInsecureLoads = false
        demands = .standard
    }

    init(_ reader: inout PropertyListReader) {
        allowsInsecureLoads = reader.boolean("NSExceptionAllowsInsecureHTTPLoads") ?? false
        demands = .standard
        // Who may do without TLS may do with any.
        demands.needsTrust = !allowsInsecureLoads
        if reader.contains("NSExceptionMinimumTLSVersion") {
            // It may have been meant to be any of them.
            demands.minimumVersion = .tls13
            if let text = reader.string("NSExceptionMinimumTLSVersion") {
                if let version = TransportSecurityDemands.Version(text) {
                    demands.minimumVersion = version
                } else {
                    reader.complain(.notVersion, about: "NSExceptionMinimumTLSVersion")
                }
            }
        }
        demands.needsForwardSecrecy = reader.boolean("NSExceptionRequiresForwardSecrecy") ?? true
        demands.needsCertificateTransparency = reader.boolean("NSRequiresCertificateTransparency") ?? false
    }
}
