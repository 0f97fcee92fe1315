/// Header fields with credentials, whose values must not be logged.
package enum SecretFields {
    /// Substrings of the names of such fields, standard and custom ones.
    private static let marks = [
        "assertion", "auth", "bearer", "cookie", "credential", "csrf", "dpop", "hmac", "jwt", "key", "mfa", "otp",
        "passc", "passp", "passw", "pwd", "saml", "secret", "sessid", "session", "signature", "ticket", "token", "xsrf",
    ]
    /// Whole names. Most are too short to be substrings. A script in a browser cannot set fields of a WebSocket's
    /// request, so tokens are often sent as a subprotocol.
    private static let names: Set<String> = [
        "pass", "pin", "pw", "sid", "x-pass", "x-pin", "x-pw", "x-sid", "sec-websocket-protocol",
    ]

    package static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains(name) || marks.contains { name.contains($0) }
    }

    /// The value as descriptions show it. Fields such as `Location`, `Link` and `Refresh` have URLs, and any field may.
    package static func shown(_ value: String, of name: String) -> String {
        isSecret(name) ? "(hidden)" : withoutPasswords(value)
    }

    /// A text without the passwords of the URLs in it.
    private static func withoutPasswords(_ text: String) -> String {
        let mark = UInt8(ascii: "@")
        let input = Array(text.utf8)
        if !input.contains(mark) { return text }
        var output: [UInt8] = []
        var index = 0
        while index < input.count {
            guard input[index...].starts(with: "//".utf8) else {
                output.append(input[index])
                index += 1
                continue
            }
            let authority = input[(index + 2)...].prefix { !endsAuthority($0) }
            output += "//".utf8
            if let end = authority.lastIndex(of: mark),
                let colon = authority[..<end].firstIndex(of: UInt8(ascii: ":"))
            {
                output += authority[..<colon] + authority[end...]
            } else {
                output += authority
            }
            index = authority.endIndex
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool { byte <= 0x20 || "\"<>/?#\\".utf8.contains(byte) }
}
