/// Which names, of header fields, parameters and members of JSON, say that their value is a secret.
enum SecretNames {
    /// Whatever has one of these in its name is secret.
    private static let parts = [
        "token", "secret", "password", "passwd", "passphrase", "credential", "session", "signature", "assertion", "jwt",
        "csrf", "xsrf", "apikey", "accesskey", "authkey", "privatekey", "cookie", "authorization",
    ]
    private static let wholes: Set<String> = [
        "pwd", "pass", "auth", "sid", "otp", "pin", "bearer", "authenticationinfo", "proxyauthenticationinfo",
    ]
    /// Too common a word elsewhere than in the address and the form of a login.
    private static let parameters: Set<String> = ["code", "key", "sig"]
    /// What has such a part in it, and is public.
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

    /// Whether it may be a number of something, which is no secret: `max_tokens`.
    static func isCount(_ name: String) -> Bool { letters(of: PercentCoding.decoded(name)).hasSuffix("tokens") }

    private static func isSecret(_ plain: String) -> Bool {
        if exceptions.contains(plain) { return false }
        return wholes.contains(plain) || parts.contains { plain.contains($0) }
    }

    /// `Api-Key`, `api_key` and `apiKey` are one name.
    private static func letters(of name: String) -> String {
        String(decoding: name.lowercased().utf8.filter { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 }, as: UTF8.self)
    }
}
