/// Parses a list of challenges or of parameters (RFC 9110 §11.3, §11.6.1, §5.6.1).
///
/// Both lists are separated by commas, so what follows a token decides whether it is a scheme or a parameter name. A
/// malformed item is skipped up to the next comma. Parsing is linear; only an unterminated quoted string is scanned
/// twice.
struct ChallengeReader {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ value: String) {
        bytes = Array(value.utf8)
    }

    mutating func challenges() -> [AuthenticationChallenge] {
        var result: [AuthenticationChallenge] = []
        while skipSeparators() {
            guard let name = token() else {
                skipItem()
                continue
            }
            let nameEnd = offset
            skipWhitespace()
            if next == UInt8(ascii: "=") {
                let parameter = AuthenticationParameters.Parameter(name.lowercased(), parameterValue())
                if let last = result.indices.last,
                    result[last].parameters.all.count < AuthenticationChallenge.Limit.parametersOfEach
                {
                    result[last].parameters.all.append(parameter)
                }
                continue
            }
            if isAtItemEnd {
                if result.count == AuthenticationChallenge.Limit.challenges { break }
                result.append(AuthenticationChallenge(scheme: name.lowercased()))
                continue
            }
            guard offset > nameEnd else {
                skipItem()
                continue
            }
            if result.count == AuthenticationChallenge.Limit.challenges { break }
            result.append(AuthenticationChallenge(scheme: name.lowercased(), token: token68()))
            if !isAtItemEnd, !isAtParameter { skipItem() }
        }
        return result
    }

    /// Parses the parameters of `Authentication-Info`, which has no scheme (RFC 9110 §11.6.3).
    mutating func parameters() -> AuthenticationParameters {
        var result = AuthenticationParameters()
        while skipSeparators() {
            guard let name = token() else {
                skipItem()
                continue
            }
            skipWhitespace()
            guard next == UInt8(ascii: "=") else {
                skipItem()
                continue
            }
            result.all.append(AuthenticationParameters.Parameter(name.lowercased(), parameterValue()))
            if result.all.count == AuthenticationChallenge.Limit.parametersOfEach { break }
        }
        return result
    }

    // MARK: Pieces

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private var isAtItemEnd: Bool { next == nil || next == UInt8(ascii: ",") }

    /// Whether a token and "=" follow.
    private var isAtParameter: Bool {
        var ahead = self
        guard ahead.token() != nil else { return false }
        ahead.skipWhitespace()
        return ahead.next == UInt8(ascii: "=")
    }

    private mutating func skipWhitespace() {
        while let byte = next, Self.isWhitespace(byte) { offset += 1 }
    }

    /// Returns false at the end of the list.
    private mutating func skipSeparators() -> Bool {
        while let byte = next, Self.isWhitespace(byte) || byte == UInt8(ascii: ",") { offset += 1 }
        return next != nil
    }

    private mutating func skipItem() {
        while !isAtItemEnd { offset += 1 }
    }

    private mutating func token() -> String? {
        let start = offset
        while let byte = next, Self.isToken(byte) { offset += 1 }
        return start < offset ? String(decoding: bytes[start..<offset], as: UTF8.self) : nil
    }

    /// Reads a token68 if it extends to the next comma. Otherwise returns nil and reads nothing.
    private mutating func token68() -> String? {
        let start = offset
        while let byte = next, Self.isToken68(byte) { offset += 1 }
        if offset > start {
            while next == UInt8(ascii: "=") { offset += 1 }
            let end = offset
            skipWhitespace()
            if isAtItemEnd { return String(decoding: bytes[start..<end], as: UTF8.self) }
        }
        offset = start
        return nil
    }

    /// Starts at the "=". Ends before a comma, or before the next parameter if the comma is missing.
    private mutating func parameterValue() -> String {
        offset += 1
        skipWhitespace()
        if next == UInt8(ascii: "\"") { return quoted() }
        let start = offset
        // Accepts more than a token, because nonces are often sent without the required quotes.
        while let byte = next, byte != UInt8(ascii: ","), !Self.isWhitespace(byte) { offset += 1 }
        let value = String(decoding: bytes[start..<offset], as: UTF8.self)
        skipWhitespace()
        return value
    }

    /// Reads a quoted string. If its closing quotation mark is missing, so that the string extends to the end or to the
    /// opening quotation mark of another string, the value ends at the first comma.
    private mutating func quoted() -> String {
        offset += 1
        let start = offset
        var firstComma: Int?
        var value: [UInt8] = []
        while var byte = next, byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), offset + 1 < bytes.count {
                offset += 1
                byte = bytes[offset]
            }
            if byte == UInt8(ascii: ","), firstComma == nil { firstComma = offset }
            value.append(byte)
            offset += 1
        }
        let isClosed = next != nil
        if isClosed {
            offset += 1
            let end = offset
            skipWhitespace()
            // White space and a token follow, so only the comma is missing.
            if isAtItemEnd || offset > end && next.map(Self.isToken) == true {
                return String(decoding: value, as: UTF8.self)
            }
        }
        if let firstComma {
            offset = firstComma
            return String(decoding: bytes[start..<firstComma], as: UTF8.self)
        }
        skipItem()
        return String(decoding: value, as: UTF8.self)
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// RFC 9110 §5.6.2
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: byte < 0x80 && tokenMarks.contains(byte)
        }
    }

    private static let tokenMarks = Array("!#$%&'*+-.^_`|~".utf8)

    /// RFC 9110 §11.2, without the trailing "=".
    private static func isToken68(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"),
            UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
