/// Converts percent-encoded and internationalized hosts to ASCII.
///
/// The public `URL` maps hosts by UTS 46 during parsing. The hosts here come from `Location` fields and
/// percent-encoding. The only mapping is to lower case, and of ideographic full stops. A host that needs another one is
/// refused: encoded as it is, it would be another host.
enum HostName {
    /// Returns nil if the text is not a valid host name, which is treated as an unknown host (ERR-15).
    static func ascii(_ host: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let decoded = PercentEncoding.decode(host),
            let name = String(validating: decoded, as: UTF8.self)?.lowercased()
        else { return nil }
        var result: [UInt8] = []
        let isDot = { (scalar: Unicode.Scalar) in
            scalar == "." || scalar == "\u{3002}" || scalar == "\u{FF0E}" || scalar == "\u{FF61}"
        }
        let labels = name.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: isDot)
        for (index, label) in labels.enumerated() {
            if index > 0 { result.append(UInt8(ascii: ".")) }
            if label.allSatisfy(\.isASCII) {
                result += label.lazy.map { UInt8(truncatingIfNeeded: $0.value) }
            } else {
                // A label has at most 63 characters (RFC 1035 §2.3.4), and the encoding is never shorter.
                if label.count > 63 || label.contains(where: needsMapping) { return nil }
                let encoded = Punycode.encode(Array(label))
                if encoded.count > 59 { return nil }
                result += "xn--".utf8
                result += encoded
            }
        }
        return result.allSatisfy(URLBytes.isRegisteredName) ? result : nil
    }

    /// Whether UTS 46 maps the character, or may compose it with the one before it (RFC 5891 §5.2: labels are in NFC).
    private static func needsMapping(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        // IDNA 2008 keeps them.
        case "ß", "ς", "\u{200C}", "\u{200D}": false
        // Combining marks of Latin, Greek and Cyrillic; conjoining Hangul; marks of Kana. The marks of most other
        // scripts do not compose.
        case "\u{300}"..."\u{36F}", "\u{1100}"..."\u{11FF}", "\u{3099}"..."\u{309A}": true
        default: scalar.properties.changesWhenNFKCCaseFolded
        }
    }
}
