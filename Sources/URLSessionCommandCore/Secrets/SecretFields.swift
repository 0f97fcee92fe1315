/// Which parts of a message are secrets, and how they are hidden.
package enum SecretFields {
    package static let replacement = "[redacted]"

    /// Of credentials in a value, whatever the field is called.
    private static let schemes = ["basic ", "bearer ", "digest ", "negotiate ", "ntlm ", "token "]
    /// What may be shown of credentials: another word before the first blank may be a part of them.
    private static let knownSchemes: Set<String> = [
        "basic", "bearer", "digest", "negotiate", "ntlm", "token", "concealed", "dpop", "gnap", "hoba", "mutual",
        "oauth",
        "privatetoken", "scram-sha-1", "scram-sha-256", "vapid", "aws4-hmac-sha256", "kerberos",
    ]
    /// Fields that are an address and nothing else.
    private static let addresses: Set<String> = ["location", "content-location", "referer", "origin"]

    package static func isSecret(_ name: String) -> Bool { SecretNames.isSecretField(name) }

    /// The value as it may be shown: hidden for a secret field, without the secrets of the addresses in it for others.
    /// Of credentials, a known scheme stays.
    package static func redact(name: String, value: String) -> String {
        let name = name.lowercased()
        // A challenge is no secret; what answers one is.
        if name == "www-authenticate" || name == "proxy-authenticate" { return value }
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
