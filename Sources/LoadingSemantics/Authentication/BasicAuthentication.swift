internal import FoundationEssentials

/// Credentials of the Basic scheme (RFC 7617).
package enum BasicAuthentication {
    /// The value of `Authorization`. Returns nil if the user name contains a colon, which the scheme cannot represent
    /// (§2).
    ///
    /// - Parameters:
    ///   - user: In Unicode normalization form C, as `password`. This function does not normalize.
    ///   - isUTF8: Whether the server requests UTF-8. Otherwise the value is Latin-1, which most such servers expect,
    ///     unless the text has other characters (AUTH-17).
    package static func fieldValue(user: String, password: String, isUTF8: Bool) -> String? {
        if user.utf8.contains(UInt8(ascii: ":")) { return nil }
        let text = user + ":" + password
        let latin = isUTF8 ? nil : latinOctets(text)
        return "Basic " + Data(latin ?? Array(text.utf8)).base64EncodedString()
    }

    /// Whether the challenge has `charset="UTF-8"` (§2.1).
    package static func isUTF8(_ challenge: AuthenticationChallenge) -> Bool {
        challenge.parameters["charset"]?.lowercased() == "utf-8"
    }

    private static func latinOctets(_ text: String) -> [UInt8]? {
        var octets: [UInt8] = []
        for scalar in text.unicodeScalars {
            guard let octet = UInt8(exactly: scalar.value) else { return nil }
            octets.append(octet)
        }
        return octets
    }
}
