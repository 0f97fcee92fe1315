/// Redacts secret header fields and credentials in field values.
package enum SecretFields {
    package static let replacement = "[redacted]"

    /// A value that begins with one of these is a credential, whatever the field name is.
    private static let schemes = ["basic ", "bearer ", "digest ", "negotiate ", "ntlm ", "token "]
    /// Scheme names that are kept when a credential is redacted. An unknown first word may be part of the secret.
    private static let knownSchemes: Set<String> = [
        "basic", "bearer", "digest", "negotiate", "ntlm", "token", "concealed", "dpop", "gnap", "hoba", "mutual",
        "oauth",
        "privatetoken", "scram-sha-1", "scram-sha-256", "vapid", "aws4-hmac-sha256", "kerberos",
    ]
    /// Fields whose value is one URL.
    private static let addresses: Set<String> = ["location", "content-location", "referer", "origin"]

    /// A challenge is not secret; the response to it is. The handshake of a WebSocket has random Base64, in which the
    /// name of a secret may occur.
    private static let publicFields: Set<String> = [
        "www-authenticate", "proxy-authenticate", "sec-websocket-key", "sec-websocket-accept",
    ]

    package static func isSecret(_ name: String) -> Bool { SecretNames.isSecretField(name) }

    /// The value to display. Values of secret fields are replaced, except for a known authentication scheme. In other
    /// values, only the secrets within URLs are replaced.
    package static func redact(name: String, value: String) -> String {
        let name = name.lowercased()
        if publicFields.contains(name) { return value }
        if SecretNames.isCount(name), !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) { return value }
        if isSecret(name) || schemes.contains(where: { value.lowercased().hasPrefix($0) }) {
            guard name.hasSuffix("authorization"), let blank = value.firstIndex(of: " "),
                knownSchemes.contains(value[..<blank].lowercased())
            else { return replacement }
            return value[..<blank] + " " + replacement
        }
        return SecretText.hiding(in: value, as: addresses.contains(name) ? .address : .text)
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
