package import LoadingSemantics

/// Enforces secure connections: for hosts that require them (HSTS, TLS-7), and for the program's own policy (App
/// Transport Security, TLS-1). An object, so that a request retains it and not the store, to which there may be a weak
/// reference.
package final class TransportSecurityStage {
    private let hosts: HSTSStore
    /// Nil without a policy.
    private let rules: AppTransportSecurity?

    package init(hosts: HSTSStore, rules: AppTransportSecurity?) {
        self.hosts = hosts
        self.rules = rules
    }

    /// Upgrades the request to a secure one if its host requires that. False if the request is unchanged.
    func upgrade(_ request: inout LoadRequest) -> Bool {
        guard request.url.scheme == .http || request.url.scheme == .ws, hosts.covers(request.url.host) else {
            return false
        }
        let text = SecureURL.upgrade(request.urlText, port: request.url.port)
        guard let url = try? HTTPURL(text) else { return false }
        request.url = url
        request.urlText = text
        return true
    }

    /// Throws if the request may not be sent. The policy's requirements on the TLS connection are applied when it is
    /// made.
    func check(_ url: @autoclosure () -> HTTPURL, _ text: @autoclosure () -> String) throws(LoadError) {
        guard let rules else { return }
        let url = url()
        // App Transport Security applies to HTTP only.
        guard url.scheme != .ftp, case .denied = rules.decide(url) else { return }
        throw LoadError.appTransportSecurityRequiresSecureConnection.at(text())
    }

    /// Applies the response's policy for its host.
    ///
    /// - Parameter isTrusted: Whether the connection had no certificate error that the program overrode.
    func note(_ fields: HTTPFields, from url: HTTPURL, isTrusted: @autoclosure () -> Bool) {
        guard url.scheme.isSecure, fields.contains("Strict-Transport-Security") else { return }
        hosts.note(fields, from: url, isTrusted: isTrusted())
    }
}
