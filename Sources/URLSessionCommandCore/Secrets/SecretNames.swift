/// Decides by its name whether a header field, URL parameter or JSON member is secret.
enum SecretNames {
    /// A name that contains one of these is secret.
    private static let parts = [
        "token", "secret", "password", "passwd", "passphrase", "credential", "session", "signature", "assertion", "jwt",
        "csrf", "xsrf", "apikey", "accesskey", "authkey", "privatekey", "cookie", "authorization",
    ]
    /// A name that equals one of these is secret.
    private static let exactNames: Set<String> = [
        "pwd", "pass", "auth", "sid", "otp", "pin", "bearer", "authenticationinfo", "proxyauthenticationinfo",
    ]
    /// Secret only as URL parameters and form fields; elsewhere these words are too common.
    private static let parameters: Set<String> = ["code", "key", "sig"]
    /// Public names that contain a word of `parts`.
    private static let exceptions: Set<String> = [
        "accesscontrolallowcredentials", "secwebsocketkey", "idempotencykey", "surrogatekey", "tokentype",
    ]

    static func isSecretField(_ name: String) -> Bool {
        let plain = letters(of: name)
        if exceptions.contains(plain) { return false }
        return isSecret(plain) || plain.hasPrefix("xauth") || plain.hasSuffix("key")
    }

    static func isSecretParameter(_ name: String) -> Bool {
        let plain = letters(of: PercentCoding.decoded(name))
        return isSecret(plain) || parameters.contains(plain)
    }

    static func isSecretMember(_ name: String) -> Bool { isSecret(letters(of: name)) }

    /// Whether a numeric value of this name is a count and not a secret, as in `max_tokens`.
    static func isCount(_ name: String) -> Bool { letters(of: PercentCoding.decoded(name)).hasSuffix("tokens") }

    private static func isSecret(_ plain: String) -> Bool {
        if exceptions.contains(plain) { return false }
        return exactNames.contains(plain) || parts.contains { plain.contains($0) }
    }

    /// Maps `Api-Key`, `api_key` and `apiKey` to the same name.
    private static func letters(of name: String) -> String {
        String(decoding: name.lowercased().utf8.filter { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 }, as: UTF8.self)
    }
}
