/// Splits the value of an `Alt-Svc` field into alternatives.
struct AlternativeServiceReader {
    struct Alternative {
        /// Nil for a protocol other than HTTP/3.
        var offer: AlternativeServiceField.Offer?
    }

    private let bytes: [UInt8]
    private var offset = 0
    /// Whether an unterminated quoted string was found. Every later quotation mark is unterminated too, so none is
    /// scanned twice.
    private var isQuoteOpen = false

    init(_ value: String) { bytes = Array(value.utf8) }

    /// The next well-formed alternative.
    mutating func nextAlternative() -> Alternative? {
        while skipSeparators() {
            if let alternative = alternative() { return alternative }
            skipItem()
        }
        return nil
    }

    /// Parses up to the next comma or the end. Returns nil if the alternative is malformed.
    private mutating func alternative() -> Alternative? {
        guard let name = token(), take(UInt8(ascii: "=")), let authority = quoted(),
            let (host, port) = Self.hostPort(authority)
        else { return nil }
        var maximumAge: Int64?
        var persists: Bool?
        skipWhitespace()
        while take(UInt8(ascii: ";")) {
            skipWhitespace()
            // Empty parameters between or after semicolons are allowed.
            if isAtItemEnd || next == UInt8(ascii: ";") { continue }
            guard let key = token(), take(UInt8(ascii: "=")) else { return nil }
            guard let value = next == UInt8(ascii: "\"") ? quoted() : token().map(Array.init) else { return nil }
            if maximumAge == nil, Self.isNamed(key, "ma") {
                guard let seconds = DeltaSeconds.parse(value) else { return nil }
                maximumAge = seconds
            } else if persists == nil, Self.isNamed(key, "persist") {
                // Values other than "1" are ignored (§3.1).
                persists = value == [UInt8(ascii: "1")]
            }
            skipWhitespace()
        }
        guard isAtItemEnd else { return nil }
        // Encoding of token characters is not allowed, but unambiguous, so it is accepted.
        guard let identifier = PercentEncoding.decode(name), identifier.elementsEqual("h3".utf8) else {
            return Alternative(offer: nil)
        }
        let service = AlternativeService(host: host, port: port, persists: persists ?? false)
        return Alternative(
            offer: AlternativeServiceField.Offer(
                service, maximumAge: maximumAge ?? TimeLimits.standard.alternativeLifetime))
    }

    /// An empty host gives nil.
    private static func hostPort(_ authority: [UInt8]) -> (host: String?, port: UInt16)? {
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let digits = authority[(colon + 1)...]
        guard let number = DeltaSeconds.parse(digits), let port = UInt16(exactly: number), port > 0 else { return nil }
        if colon == 0 { return (nil, port) }
        let name = String(decoding: authority[..<colon].lazy.map(asciiLowercase), as: UTF8.self)
        return AlternativeService.host(name).map { ($0, port) }
    }

    private static func isNamed(_ key: ArraySlice<UInt8>, _ name: StaticString) -> Bool {
        name.withUTF8Buffer { key.lazy.map(asciiLowercase).elementsEqual($0) }
    }

    // MARK: Pieces

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private var isAtItemEnd: Bool { next == nil || next == UInt8(ascii: ",") }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    private mutating func skipWhitespace() {
        while let byte = next, OptionalWhitespace.contains(byte) { offset += 1 }
    }

    /// Returns false at the end of the list.
    private mutating func skipSeparators() -> Bool {
        while let byte = next, OptionalWhitespace.contains(byte) || byte == UInt8(ascii: ",") { offset += 1 }
        return next != nil
    }

    /// Skips to the next comma outside quotes. An unterminated quoted string does not hide a comma.
    private mutating func skipItem() {
        while let byte = next, byte != UInt8(ascii: ",") {
            if byte != UInt8(ascii: "\"") || quoted() == nil { offset += 1 }
        }
    }

    private mutating func token() -> ArraySlice<UInt8>? {
        let start = offset
        while let byte = next, ChallengeReader.isToken(byte) { offset += 1 }
        return start < offset ? bytes[start..<offset] : nil
    }

    /// Removes quotes and escapes. Returns nil and reads nothing if there is no quoted string, or if it is
    /// unterminated.
    private mutating func quoted() -> [UInt8]? {
        let start = offset
        guard !isQuoteOpen, take(UInt8(ascii: "\"")) else { return nil }
        var text: [UInt8] = []
        while var byte = next {
            offset += 1
            if byte == UInt8(ascii: "\"") { return text }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = next else { break }
                byte = escaped
                offset += 1
            }
            text.append(byte)
        }
        offset = start
        isQuoteOpen = true
        return nil
    }
}
