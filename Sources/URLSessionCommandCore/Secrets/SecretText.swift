/// Redacts secrets in text: user information of URLs, and values of parameters, form fields and JSON members with
/// secret names (`SecretNames`). All other bytes are unchanged.
package struct SecretText {
    /// The format of the text. It determines where a value ends.
    package enum Kind: Sendable {
        /// A field value, JSON, or unknown text.
        case text
        /// One URL.
        case address
        /// `application/x-www-form-urlencoded`
        case form
        /// `multipart/form-data`
        case multipart

        package init(mimeType: String) {
            let type = mimeType.lowercased()
            self =
                type.hasPrefix("application/x-www-form-urlencoded")
                ? .form : type.hasPrefix("multipart/") ? .multipart : .text
        }
    }

    private let input: [UInt8]
    private let kind: Kind
    private let replacement: [UInt8]
    /// Nesting depth of percent-encoded URLs in URL parameters; at most 3 levels are scanned.
    private let depth: Int
    private var output: [UInt8] = []
    private var index = 0
    /// Whether the scan position is in the query or fragment of a URL.
    private var isInQuery = false
    /// End of the last value that was scanned, and whether it was in a query. Cached, so that a value with many equals
    /// signs is scanned once.
    private var valueEnd = 0
    private var valueWasInQuery = false
    /// Start of the body of the last multipart head that was scanned; `Int.max` after the last part.
    private var partStart = 0
    /// The multipart delimiter, determined when first needed.
    private var delimiter: [UInt8]?

    /// - Parameter replacement: The text that replaces a secret. Percent-encoded if the result must be a valid URL.
    package static func hiding(
        in text: String, as kind: Kind = .text, replacement: String = SecretFields.replacement
    ) -> String {
        guard mayHoldSecrets(text.utf8) else { return text }
        return String(
            decoding: hiding(in: Array(text.utf8), kind, Array(replacement.utf8), depth: 0), as: UTF8.self)
    }

    /// Redacts a URL so that the result is a valid URL.
    package static func hiding(inURL url: String) -> String {
        hiding(in: url, as: .address, replacement: "%5Bredacted%5D")
    }

    /// A fast check that excludes most texts.
    private static func mayHoldSecrets(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.contains { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") || $0 == slash }
    }

    private static func hiding(in bytes: [UInt8], _ kind: Kind, _ replacement: [UInt8], depth: Int) -> [UInt8] {
        guard mayHoldSecrets(bytes) else { return bytes }
        var scanner = SecretText(input: bytes, kind: kind, replacement: replacement, depth: depth)
        scanner.run()
        return scanner.output
    }

    private init(input: [UInt8], kind: Kind, replacement: [UInt8], depth: Int) {
        self.input = input
        self.kind = kind
        self.replacement = replacement
        self.depth = depth
    }

    private static let slash = UInt8(ascii: "/")
    private static let quote = UInt8(ascii: "\"")
    private static let apostrophe = UInt8(ascii: "'")
    private static let backslash = UInt8(ascii: "\\")

    private mutating func run() {
        output.reserveCapacity(input.count)
        while index < input.count {
            let byte = input[index]
            output.append(byte)
            index += 1
            switch byte {
            case Self.slash where index < input.count && input[index] == Self.slash: authority()
            case UInt8(ascii: "="): parameter()
            case UInt8(ascii: ":"): member()
            case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "#"): isInQuery = true
            default: if kind != .address, Self.endsAddress(byte) { isInQuery = false }
            }
        }
    }

    // MARK: URLs

    /// After the first of two slashes.
    private mutating func authority() {
        let start = index + 1
        var end = start
        while end < input.count, !endsAuthority(input[end]) { end += 1 }
        guard let at = input[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return }
        output.append(Self.slash)
        index = start
        hide(until: at)
    }

    private func endsAuthority(_ byte: UInt8) -> Bool {
        "/?#\\".utf8.contains(byte) || kind != .address && Self.endsAddress(byte)
    }

    /// Whether this byte ends a URL within text.
    private static func endsAddress(_ byte: UInt8) -> Bool { byte <= 0x20 || "\"<>".utf8.contains(byte) }

    // MARK: Parameters

    /// After the equals sign.
    private mutating func parameter() {
        let name = nameBefore(index - 1)
        if kind == .multipart, name.lowercased() == "name" { return part() }
        let isSecret = !name.isEmpty && SecretNames.isSecretParameter(name)
        if let opening = openingMark(), isOpening(opening) {
            if isSecret { hideStringAndRest(opening, named: name) }
            return
        }
        let isNew = index >= valueEnd || valueWasInQuery != isInQuery
        if isNew {
            valueEnd = endOfValue(from: index)
            valueWasInQuery = isInQuery
        }
        let end = valueEnd
        guard end > index else { return }
        if isSecret { return hide(until: end, named: name) }
        // The value may be a percent-encoded URL: `next=https%3A%2F%2Fh%2F%3Ftoken%3D…`.
        guard isNew, depth < 3, input[index..<end].contains(UInt8(ascii: "%")) else { return }
        let value = PercentCoding.decoded(input[index..<end])
        let hidden = Self.hiding(in: value, .text, Array(SecretFields.replacement.utf8), depth: depth + 1)
        guard hidden != value else { return }
        output += PercentCoding.encoded(hidden)
        index = end
    }

    /// Whether a quotation mark after an equals sign begins a quoted value. It may instead be part of the value, or end
    /// the text around it.
    private func isOpening(_ opening: Opening) -> Bool {
        if kind == .form || kind == .address { return false }
        guard isInQuery else { return true }
        guard opening.mark == Self.quote, opening.end < input.count else { return false }
        let next = input[opening.end]
        return next > 0x20 && !",;:}]>".utf8.contains(next)
    }

    private mutating func hideStringAndRest(_ opening: Opening, named name: String) {
        hideString(opening, named: name)
        guard opening.level == 0, index < input.count else { return }
        output.append(input[index])
        index += 1
        hide(until: endOfValue(from: index))
    }

    private func nameBefore(_ end: Int) -> String {
        var start = end
        while start > 0, Self.isOfName(input[start - 1]) { start -= 1 }
        return String(decoding: input[start..<end], as: UTF8.self)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "_-.%[]+$~".utf8.contains(byte)
        }
    }

    private func endOfValue(from start: Int) -> Int {
        var end = start
        while end < input.count, !endsValue(input[end]) { end += 1 }
        // In JSON within JSON, backslashes precede the quote that ends the inner string.
        if end < input.count, input[end] == Self.quote {
            while end > start, input[end - 1] == Self.backslash { end -= 1 }
        }
        return end
    }

    private func endsValue(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "&") { return true }
        switch kind {
        // In a form only `&` ends a value.
        case .form: return false
        case .address where isInQuery: return byte == UInt8(ascii: "#")
        // A parameter of a path segment.
        case .address: return "/?#;".utf8.contains(byte)
        case .text, .multipart:
            // A query may contain `'`, `;` and `,`.
            return byte == UInt8(ascii: "#") || Self.endsAddress(byte) || !isInQuery && "';,".utf8.contains(byte)
        }
    }

    // MARK: multipart/form-data

    /// After the equals sign of a part's `name` parameter. The value lies between the next empty line and the next
    /// delimiter.
    private mutating func part() {
        if index >= partStart { partStart = endOfHead(from: index) }
        guard partStart < Int.max, SecretNames.isSecretParameter(partName()) else { return }
        output += input[index..<partStart]
        index = partStart
        hide(until: endOfPart())
    }

    private func partName() -> String {
        let isQuoted = input[index] == Self.quote
        let head = input[(isQuoted ? index + 1 : index)..<partStart]
        let name = head.prefix { isQuoted ? $0 != Self.quote : $0 > 0x20 && $0 != UInt8(ascii: ";") }
        return String(decoding: name, as: UTF8.self)
    }

    /// The position after the next empty line. Lines end with CRLF or LF.
    private func endOfHead(from start: Int) -> Int {
        let lineFeed = UInt8(ascii: "\n")
        var at = start
        while let end = input[at...].firstIndex(of: lineFeed) {
            at = end + 1
            let next = input[at...].prefix(2)
            if next.first == lineFeed { return at + 1 }
            if next.elementsEqual("\r\n".utf8) { return at + 2 }
        }
        return Int.max
    }

    private mutating func endOfPart() -> Int {
        let delimiter = self.delimiter ?? firstDelimiter()
        self.delimiter = delimiter
        guard let end = input[index...].firstRange(of: delimiter)?.lowerBound else { return input.count }
        return end > index && input[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
    }

    /// LF and the first line that can be a delimiter. The whole line is compared, because a value such as a PEM key
    /// also has lines that begin with `--`.
    private func firstDelimiter() -> [UInt8] {
        var line = input[...]
        while !line.starts(with: "--".utf8) {
            guard let end = line.firstIndex(of: UInt8(ascii: "\n")) else { return Array("\n--".utf8) }
            line = line[(end + 1)...]
        }
        // A boundary has at most 70 characters (RFC 2046 §5.1.1).
        return Array("\n".utf8) + line.prefix { $0 > 0x20 }.prefix(72)
    }

    // MARK: JSON

    /// After a colon that may follow the name of a JSON member, also in JSON within a JSON string.
    private mutating func member() {
        var end = index - 1
        while end > 0, Self.isBlank(input[end - 1]) { end -= 1 }
        guard end > 0, input[end - 1] == Self.quote else { return }
        end -= 1
        var backslashes = 0
        while end > 0, input[end - 1] == Self.backslash {
            end -= 1
            backslashes += 1
        }
        let name = nameBefore(end)
        guard !name.isEmpty, SecretNames.isSecretMember(name) else { return }
        let level = Self.level(after: backslashes)
        passBlanks(level)
        guard index < input.count else { return }
        if let opening = openingMark() { return hideString(opening, named: name) }
        switch input[index] {
        case UInt8(ascii: "["), UInt8(ascii: "{"): replaceValue(until: endOfContainer(level), level)
        case 0x30...0x39, UInt8(ascii: "-"):
            if SecretNames.isCount(name) { return }
            var last = index
            while last < input.count, !Self.isBlank(input[last]), !",}]\\\"".utf8.contains(input[last]) { last += 1 }
            replaceValue(until: last, level)
        default: break
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    /// Copies white space, and escaped white space at `level` > 0.
    private mutating func passBlanks(_ level: Int) {
        while index < input.count {
            var end = index
            while level > 0, end < input.count, input[end] == Self.backslash { end += 1 }
            guard end < input.count,
                end > index ? "nrt".utf8.contains(input[end]) : Self.isBlank(input[end])
            else { return }
            output += input[index...end]
            index = end + 1
        }
    }

    /// Replaces a value that is not a string by a quoted replacement.
    private mutating func replaceValue(until end: Int, _ level: Int) {
        let mark = [UInt8](repeating: Self.backslash, count: (1 << level) - 1) + [Self.quote]
        output += mark
        hide(until: end)
        output += mark
    }

    /// The position after the closing bracket of the array or object that begins at `index`, or the end of the
    /// enclosing string if the container is truncated.
    private func endOfContainer(_ level: Int) -> Int {
        var open = 0
        var isInString = false
        var backslashes = 0
        for at in index..<input.count {
            let byte = input[at]
            switch byte {
            case Self.quote:
                if let closed = Self.level(after: backslashes, upTo: level) {
                    if closed < level { return at - Self.escapes(closed) }
                    isInString.toggle()
                }
            case UInt8(ascii: "["), UInt8(ascii: "{"): if !isInString { open += 1 }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if !isInString { open -= 1 }
                if open == 0 { return at + 1 }
            default: break
            }
            backslashes = byte == Self.backslash ? backslashes + 1 : 0
        }
        return input.count
    }

    // MARK: Strings

    /// An opening quotation mark. `level` is the number of enclosing JSON strings; each one doubles the backslashes.
    private struct Opening {
        let mark: UInt8
        let end: Int
        let level: Int
    }

    /// The opening quotation mark at `index`, if there is one.
    private func openingMark() -> Opening? {
        var end = index
        while end < input.count, input[end] == Self.backslash { end += 1 }
        guard end < input.count, input[end] == Self.quote || input[end] == Self.apostrophe else { return nil }
        return Opening(mark: input[end], end: end + 1, level: Self.level(after: end - index))
    }

    /// The number of backslashes before a quotation mark at this nesting level.
    private static func escapes(_ level: Int) -> Int { (1 << level) - 1 }

    /// The nesting level of a quotation mark after that many backslashes. Nil if the level exceeds `limit`: the mark is
    /// then part of the text.
    private static func level(after backslashes: Int, upTo limit: Int) -> Int? {
        let level = level(after: backslashes)
        return level <= limit ? level : nil
    }

    private static func level(after backslashes: Int) -> Int {
        var rest = backslashes
        var level = 0
        while rest % 2 == 1 {
            rest /= 2
            level += 1
        }
        return level
    }

    /// Redacts the content of a string. The end of an enclosing string ends it too.
    private mutating func hideString(_ opening: Opening, named name: String) {
        output += input[index..<opening.end]
        index = opening.end
        var end = index
        var backslashes = 0
        while end < input.count {
            if input[end] == opening.mark || input[end] == Self.quote && opening.level > 0,
                let closed = Self.level(after: backslashes, upTo: opening.level)
            {
                end -= Self.escapes(closed)
                break
            }
            backslashes = input[end] == Self.backslash ? backslashes + 1 : 0
            end += 1
        }
        hide(until: end, named: name)
    }

    // MARK: Hiding

    private mutating func hide(until end: Int, named name: String) {
        if SecretNames.isCount(name), input[index..<end].allSatisfy({ 0x30...0x39 ~= $0 }) { return }
        hide(until: end)
    }

    private mutating func hide(until end: Int) {
        guard end > index else { return }
        output += replacement
        index = end
    }
}
