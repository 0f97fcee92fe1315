internal import LoadingSemantics
import URLLoading

/// What the switches mean for a session.
extension NetworkOptions {
    /// The proxy variables of the session; nil for those of the environment.
    func proxyVariables(_ environment: [String: String]) -> [String: String]? {
        // The connection to a proxy would be redirected, with its password.
        if destinations.redirects { return [:] }
        guard proxy != nil || noProxy != nil else { return nil }
        var variables: [String: String] = [:]
        let own = noProxy ?? environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        if let proxy {
            guard !proxy.isEmpty else { return [:] }
            variables["all_proxy"] = withUser(proxy)
            // A proxy that is named is used for this machine too, as in curl.
            variables["no_proxy"] = own.isEmpty ? "<-loopback>" : own + ",<-loopback>"
        } else {
            for name in ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy"] {
                for name in [name, name.uppercased()] { variables[name] = environment[name] }
            }
            variables["REQUEST_METHOD"] = environment["REQUEST_METHOD"]
            variables["no_proxy"] = own
        }
        return variables
    }

    private func withUser(_ proxy: String) -> String {
        guard let proxyUser, let mark = proxy.firstRange(of: "://") else { return proxy }
        let parts = proxyUser.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let user = parts.map { PercentCoding.encoded(String($0)) }.joined(separator: ":")
        let host = proxy[mark.upperBound...].split(separator: "@").last ?? ""
        return proxy[..<mark.upperBound] + user + "@" + host
    }
}

extension TLSVersionNumber {
    var value: tls_protocol_version_t {
        switch self {
        case .tls10: .TLSv10
        case .tls11: .TLSv11
        case .tls12: .TLSv12
        case .tls13: .TLSv13
        }
    }
}
