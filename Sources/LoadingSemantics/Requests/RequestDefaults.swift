/// Default request fields, for names that the application has not set.
package enum RequestDefaults {
    /// MISC-1
    package static let accept = "*/*"

    /// brotli is offered only over TLS, because some intermediaries corrupt it in cleartext (ENC-1), and only if its
    /// library is installed.
    package static func acceptEncoding(isSecure: Bool, decodesBrotli: Bool) -> String {
        isSecure && decodesBrotli ? "gzip, deflate, br" : "gzip, deflate"
    }

    /// MISC-4. Nil if the request has no default.
    package static func contentType(method: String, hasNonEmptyBody: Bool) -> String? {
        method == "POST" && hasNonEmptyBody ? "application/x-www-form-urlencoded" : nil
    }

    /// The preferred languages, each region followed by its language, with decreasing weights (MISC-3).
    ///
    /// `["en-US", "de"]` becomes `en-US,en;q=0.9,de;q=0.8`. Nil if there is no language.
    package static func acceptLanguage(_ preferred: [String]) -> String? {
        var languages: [String] = []
        for (index, tag) in preferred.enumerated() where isLanguageTag(tag) {
            if !languages.contains(tag) { languages.append(tag) }
            // The bare language follows the last of its consecutive regions.
            let language = bareLanguage(tag)
            let next = index + 1 < preferred.count ? bareLanguage(preferred[index + 1]) : nil
            if next != language, !languages.contains(language), !preferred.contains(language) {
                languages.append(language)
            }
        }
        guard var list = languages.first else { return nil }
        for index in languages.indices.dropFirst() { list += ",\(languages[index]);q=0.\(max(1, 10 - index))" }
        return list
    }

    /// `name/version URLSessionLinux/… Linux/…`, or `name (unknown version) …` for a program without one (MISC-2).
    package static func userAgent(
        programName: String, programVersion: String?, libraryVersion: String, kernelVersion: String
    ) -> String {
        let program = token(programName)
        let first = programVersion.map { "\(program)/\(token($0))" } ?? "\(program) (unknown version)"
        return "\(first) URLSessionLinux/\(token(libraryVersion)) Linux/\(token(kernelVersion))"
    }

    private static func bareLanguage(_ tag: String) -> String {
        String(tag.prefix { $0 != "-" })
    }

    private static func isLanguageTag(_ tag: String) -> Bool {
        tag.utf8.first.map { asciiLowercase($0) &- 0x61 < 26 } == true
            && tag.utf8.allSatisfy { asciiLowercase($0) &- 0x61 < 26 || $0 &- 0x30 < 10 || $0 == UInt8(ascii: "-") }
    }

    /// Percent-encodes everything that is not a token character (RFC 9110 §5.6.2), and "%".
    private static func token(_ text: String) -> String {
        let encoded = PercentEncoding.encode(text.utf8) { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"),
                UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"),
                UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
                true
            default: false
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
