/// Decides by its name whether a header field, URL parameter or JSON member is secret.
enum SecretNames {
    /// A name that contains one of these is secret.
    private static let parts = [
        "token", "secret", "password", "passwd", "passphrase", "credential", "session", "signature", "assertion", "jwt",
        "csrf", "xsrf", "apikey", "accesskey", "authkey", "privatekey", "privkey", "cookie", "authorization", "sessid",
        "passcode", "pincode", "samlresponse", "samlart", "hmac", "dpop",
    ]
    /// A name that equals one of these, without `X-`, is secret.
    private static let exactNames: Set<String> = [
        "pass", "auth", "sid", "pin", "authenticationinfo", "proxyauthenticationinfo", "mfacode", "otpcode", "totpcode",
        "smscode",
    ]
    /// A name is secret that contains one of these as a word: `X-MFA-Code`, `user_pw`, `loginTicket`.
    private static let words: Set<String> = [
        "bearer", "hotp", "mfa", "otp", "psw", "pw", "pwd", "tfa", "ticket", "totp", "2fa",
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
        // A script in a browser cannot set fields of a WebSocket's request, so tokens are often sent as a subprotocol.
        return isSecret(name) || plain.hasPrefix("xauth") || plain.hasSuffix("key") || plain == "secwebsocketprotocol"
    }

    static func isSecretParameter(_ name: String) -> Bool {
        let decoded = PercentCoding.decoded(name)
        return isSecret(decoded) || parameters.contains(letters(of: decoded))
    }

    static func isSecretMember(_ name: String) -> Bool { isSecret(name) }

    /// Whether a numeric value of this name is a count and not a secret, as in `max_tokens`.
    static func isCount(_ name: String) -> Bool { letters(of: PercentCoding.decoded(name)).hasSuffix("tokens") }

    private static func isSecret(_ name: String) -> Bool {
        let plain = letters(of: name)
        if exceptions.contains(plain) { return false }
        let isOwn = name.lowercased().hasPrefix("x-") || name.lowercased().hasPrefix("x_")
        if exactNames.contains(isOwn ? String(plain.dropFirst()) : plain) { return true }
        return parts.contains { plain.contains($0) } || hasSecretWord(name)
    }

    /// Words end at other characters, and before a capital letter after a small one.
    private static func hasSecretWord(_ name: String) -> Bool {
        var word = ""
        var last: UInt8 = 0
        for byte in name.utf8 {
            let isCapital = 0x41...0x5A ~= byte
            let isSmall = 0x61...0x7A ~= byte || 0x30...0x39 ~= byte
            if !isCapital && !isSmall || isCapital && 0x61...0x7A ~= last {
                if words.contains(word) { return true }
                word = ""
            }
            if isCapital || isSmall { word.unicodeScalars.append(Unicode.Scalar(isCapital ? byte + 0x20 : byte)) }
            last = byte
        }
        return words.contains(word)
    }

    /// Maps `Api-Key`, `api_key` and `apiKey` to the same name.
    private static func letters(of name: String) -> String {
        String(decoding: name.lowercased().utf8.filter { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 }, as: UTF8.self)
    }
}
