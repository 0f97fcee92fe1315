package import LoadingSemantics

/// Sees to it that a request goes out over a secure connection where it has to: by what hosts have said (HSTS, TLS-7), and
/// by what the program wants of itself (App Transport Security, TLS-1).
package struct TransportSecurityStage {
    private let hosts: HSTSStore
    /// Nil if nothing is asked.
    private let rules: AppTransportSecurity?

    package init(hosts: HSTSStore, rules: AppTransportSecurity?) {
        self.hosts = hosts
        self.rules = rules
    }

    /// Makes the request a secure one if its host wants that. False if it stays as it is.
    func upgrade(_ request: inout LoadRequest) -> Bool {
        guard request.url.scheme == .http, hosts.covers(request.url.host) else { return false }
        let text = SecureURL.upgrade(request.urlText, port: request.url.port)
        guard let url = try? HTTPURL(text) else { return false }
        request.url = url
        request.urlText = text
        return true
    }

    /// Throws if the request may not go out. What it demands of a secure connection is seen to where that is made.
    func check(_ url: @autoclosure () -> HTTPURL, _ text: @autoclosure () -> String) throws(LoadError) {
        guard let rules else { return }
        let url = url()
        // App Transport Security is about HTTP.
        guard url.scheme != .ftp, case .denied = rules.decide(url) else { return }
        throw LoadError.appTransportSecurityRequiresSecureConnection.at(text())
    }

    /// Does what a response says of its host.
    ///
    /// - Parameter isTrusted: Whether the connection was made without a certificate error that the program has accepted.
    func note(_ fields: HTTPFields, from url: HTTPURL, isTrusted: @autoclosure () -> Bool) {
        guard url.scheme.isSecure, fields.contains("Strict-Transport-Security") else { return }
        hosts.note(fields, from: url, isTrusted: isTrusted())
    }
}
