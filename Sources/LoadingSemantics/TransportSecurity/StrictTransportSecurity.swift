/// A parsed `Strict-Transport-Security` field (RFC 6797 §6.1).
///
/// A malformed field, or one with a duplicate directive, known or not, is ignored as a whole.
package struct StrictTransportSecurity: Sendable, Equatable {
    /// In seconds, at most 2³¹. 0 removes the host.
    package let maximumAge: Int64
    package let includesSubdomains: Bool

    /// Parses the first field of a response. Later ones are ignored even if the first is malformed (§8.1).
    package init?(_ fields: HTTPFields) {
        guard let value = fields.firstValue("Strict-Transport-Security") else { return nil }
        self.init(value)
    }

    /// Parses the value of one field.
    package init?(_ field: String) {
        var reader = Reader(bytes: Array(field.utf8))
        var names: Set<[UInt8]> = []
        var maximumAge: Int64?
        var includesSubdomains = false
        repeat {
            reader.skipWhitespace()
            // Empty directives are allowed.
            if reader.isAtDirectiveEnd { continue }
            guard let directive = reader.directive(), names.insert(directive.name).inserted else { return nil }
            if directive.name.elementsEqual("max-age".utf8) {
                guard let seconds = directive.value.flatMap(DeltaSeconds.parse) else { return nil }
                maximumAge = seconds
            } else if directive.name.elementsEqual("includesubdomains".utf8) {
                if directive.value != nil { return nil }
                includesSubdomains = true
            }
        } while reader.takeSemicolon()
        guard let maximumAge else { return nil }
        self.maximumAge = maximumAge
        self.includesSubdomains = includesSubdomains
    }

    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

        var isAtDirectiveEnd: Bool { next == nil || next == UInt8(ascii: ";") }

        mutating func takeSemicolon() -> Bool {
            if next == nil { return false }
            offset += 1
            return true
        }

        mutating func skipWhitespace() {
            while let byte = next, OptionalWhitespace.contains(byte) { offset += 1 }
        }

        /// Reads up to a semicolon or the end. Returns nil if the directive is malformed. The name is in lower case.
        mutating func directive() -> (name: [UInt8], value: [UInt8]?)? {
            let name = token().map(asciiLowercase)
            if name.isEmpty { return nil }
            skipWhitespace()
            var value: [UInt8]?
            if next == UInt8(ascii: "=") {
                offset += 1
                skipWhitespace()
                value = next == UInt8(ascii: "\"") ? quoted() : Array(token())
                // A quoted string may be empty, a token may not.
                guard let value, !value.isEmpty || bytes[offset - 1] == UInt8(ascii: "\"") else { return nil }
                skipWhitespace()
            }
            return isAtDirectiveEnd ? (name, value) : nil
        }

        private mutating func token() -> ArraySlice<UInt8> {
            let start = offset
            while let byte = next, ChallengeReader.isToken(byte) { offset += 1 }
            return bytes[start..<offset]
        }

        /// Removes quotes and escapes. Returns nil if the string is unterminated or contains control characters.
        private mutating func quoted() -> [UInt8]? {
            offset += 1
            var text: [UInt8] = []
            while var byte = next {
                offset += 1
                if byte == UInt8(ascii: "\"") { return text }
                if byte == UInt8(ascii: "\\") {
                    guard let escaped = next else { return nil }
                    byte = escaped
                    offset += 1
                }
                if byte < 0x20 && byte != 0x09 || byte == 0x7F { return nil }
                text.append(byte)
            }
            return nil
        }
    }
}

/// Upgrades URLs to secure schemes (RFC 6797 §8.3).
package enum SecureURL {
    /// Changes `http` to `https` and `ws` to `wss`. Port 80 is removed, other ports are kept. Everything else is
    /// unchanged.
    ///
    /// - Parameter port: The port of the URL.
    package static func upgrade(_ url: String, port: UInt16) -> String {
        var reference = URLReference(Array(url.utf8))
        guard let scheme = reference.scheme else { return url }
        reference.scheme = Array((scheme.count == 2 ? "wss" : "https").utf8)[...]
        if port == 80, let authority = reference.authority {
            let hostStart = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
            // IPv6 hosts, which contain colons, are never upgraded.
            reference.authority =
                authority[..<(authority[hostStart...].firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex)]
        }
        return String(decoding: reference.bytes, as: UTF8.self)
    }
}
