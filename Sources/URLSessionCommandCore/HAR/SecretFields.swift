/// Which parts of a message are secrets, and how they are hidden.
package enum SecretFields {
    package static let replacement = "[redacted]"

    private static let names: Set<String> = [
        "authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info", "cookie",
        "set-cookie", "cookie2", "set-cookie2", "x-api-key", "x-auth-token", "x-amz-security-token",
    ]
    private static let linkNames: Set<String> = ["location", "content-location", "referer"]

    package static func isSecret(_ name: String) -> Bool {
        names.contains(name.lowercased())
    }

    /// The value as it may be written down: hidden for a secret field, without user information for one that holds a URL.
    package static func redact(name: String, value: String) -> String {
        if isSecret(name) { return replacement }
        return linkNames.contains(name.lowercased()) ? withoutUserInformation(value) : value
    }

    /// `https://user:password@host/` becomes `https://[redacted]@host/`.
    package static func withoutUserInformation(_ url: String) -> String {
        guard let slashes = url.firstRange(of: "//") else { return url }
        let rest = url[slashes.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return url }
        return url[..<slashes.upperBound] + replacement + rest[at...]
    }
}
