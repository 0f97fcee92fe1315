/// Formats JSON with indentation and colour while it arrives. Memory is bounded by the nesting depth.
///
/// It never fails: from the first invalid byte on, input passes as plain text. Sequences of values (JSON lines) are
/// allowed. All text passes a `TextSanitizer`.
package struct JSONHighlighter: Sendable {
    private enum Expectation {
        case value
        /// After `[`: a value or the end.
        case valueOrEnd
        /// After `{`: a name or the end.
        case nameOrEnd
        case name
        case colon
        case separatorOrEnd
        /// Between two values at the top.
        case anotherValue
    }

    private enum Token {
        case none
        case string(isName: Bool, escape: Escape)
        /// The rest of `true`, `false` or `null`.
        case literal(rest: ArraySlice<UInt8>)
        case number
        case plain
    }

    private enum Escape {
        case none, backslash
        case unicode(digitsLeft: Int)
    }

    private static let maximumDepth = 512

    private let style: TextStyle
    private var sanitizer: TextSanitizer
    private var expectation = Expectation.value
    private var token = Token.none
    /// True for an object, false for an array.
    private var containers: [Bool] = []
    private var byteCount = 0

    package init(style: TextStyle, isUTF8: Bool = true) {
        self.style = style
        sanitizer = TextSanitizer(isUTF8: isUTF8)
    }

    package static func format(_ text: String, style: TextStyle) -> String {
        var highlighter = JSONHighlighter(style: style)
        var output: [UInt8] = []
        for byte in text.utf8 { highlighter.add(byte, to: &output) }
        highlighter.finish(to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    package mutating func add(_ byte: UInt8, to output: inout [UInt8]) {
        // Skip a byte order mark.
        if byteCount < 3, byte == [0xEF, 0xBB, 0xBF][byteCount] {
            byteCount += 1
            return
        }
        byteCount = 3
        switch token {
        case .none: begin(byte, to: &output)
        case .string(let isName, let escape): continueString(byte, isName, escape, to: &output)
        case .literal(let rest): continueLiteral(byte, rest, to: &output)
        case .number: continueNumber(byte, to: &output)
        case .plain: sanitizer.add(byte, to: &output)
        }
    }

    package mutating func finish(to output: inout [UInt8]) {
        sanitizer.finish(to: &output)
        switch token {
        case .plain: break
        case .string, .literal, .number:
            put(style.end, to: &output)
            output.append(10)
        case .none:
            if expectation != .value || !containers.isEmpty { output.append(10) }
        }
    }

    // MARK: Tokens

    private mutating func begin(_ byte: UInt8, to output: inout [UInt8]) {
        switch (byte, expectation) {
        case (0x20, _), (0x09, _), (0x0A, _), (0x0D, _):
            break
        case (UInt8(ascii: ","), .separatorOrEnd):
            output.append(byte)
            newLine(to: &output)
            expectation = containers.last == true ? .name : .value
        case (UInt8(ascii: ":"), .colon):
            output += [byte, 0x20]
            expectation = .value
        case (UInt8(ascii: "]"), .valueOrEnd), (UInt8(ascii: "}"), .nameOrEnd):
            containers.removeLast()
            output.append(byte)
            endValue()
        case (UInt8(ascii: "]"), .separatorOrEnd) where containers.last == false,
            (UInt8(ascii: "}"), .separatorOrEnd) where containers.last == true:
            containers.removeLast()
            newLine(to: &output)
            output.append(byte)
            endValue()
        case (UInt8(ascii: "\""), .name), (UInt8(ascii: "\""), .nameOrEnd):
            if case .nameOrEnd = expectation { newLine(to: &output) }
            put(style.start(.boldBlue), to: &output)
            output.append(byte)
            token = .string(isName: true, escape: .none)
        case (_, .value), (_, .valueOrEnd), (_, .anotherValue):
            beginValue(byte, to: &output)
        default:
            becomePlain(byte, to: &output)
        }
    }

    private mutating func beginValue(_ byte: UInt8, to output: inout [UInt8]) {
        let next: Token
        let color: TextStyle.Color
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard containers.count < Self.maximumDepth else { return becomePlain(byte, to: &output) }
            separate(to: &output)
            containers.append(byte == UInt8(ascii: "{"))
            output.append(byte)
            expectation = byte == UInt8(ascii: "{") ? .nameOrEnd : .valueOrEnd
            return
        case UInt8(ascii: "\""): (next, color) = (.string(isName: false, escape: .none), .green)
        case UInt8(ascii: "t"): (next, color) = (.literal(rest: Array("rue".utf8)[...]), .magenta)
        case UInt8(ascii: "f"): (next, color) = (.literal(rest: Array("alse".utf8)[...]), .magenta)
        case UInt8(ascii: "n"): (next, color) = (.literal(rest: Array("ull".utf8)[...]), .magenta)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): (next, color) = (.number, .cyan)
        default: return becomePlain(byte, to: &output)
        }
        separate(to: &output)
        put(style.start(color), to: &output)
        output.append(byte)
        token = next
    }

    private mutating func continueString(
        _ byte: UInt8, _ isName: Bool, _ escape: Escape, to output: inout [UInt8]
    ) {
        guard byte >= 0x20 else { return becomePlain(byte, to: &output) }
        switch escape {
        case .backslash:
            guard "\"\\/bfnrtu".utf8.contains(byte) else { return becomePlain(byte, to: &output) }
            output.append(byte)
            token = .string(isName: isName, escape: byte == UInt8(ascii: "u") ? .unicode(digitsLeft: 4) : .none)
        case .unicode(let digitsLeft):
            guard "0123456789abcdefABCDEF".utf8.contains(byte) else { return becomePlain(byte, to: &output) }
            output.append(byte)
            token = .string(isName: isName, escape: digitsLeft == 1 ? .none : .unicode(digitsLeft: digitsLeft - 1))
        case .none:
            sanitizer.add(byte, to: &output)
            if byte == UInt8(ascii: "\\") {
                token = .string(isName: isName, escape: .backslash)
            } else if byte == UInt8(ascii: "\"") {
                put(style.end, to: &output)
                token = .none
                if isName { expectation = .colon } else { endValue() }
            }
        }
    }

    private mutating func continueLiteral(_ byte: UInt8, _ rest: ArraySlice<UInt8>, to output: inout [UInt8]) {
        guard byte == rest.first else { return becomePlain(byte, to: &output) }
        output.append(byte)
        token = .literal(rest: rest.dropFirst())
        if rest.count == 1 {
            put(style.end, to: &output)
            token = .none
            endValue()
        }
    }

    private mutating func continueNumber(_ byte: UInt8, to output: inout [UInt8]) {
        if "0123456789+-.eE".utf8.contains(byte) {
            output.append(byte)
            return
        }
        put(style.end, to: &output)
        token = .none
        endValue()
        begin(byte, to: &output)
    }

    // MARK: Layout

    private mutating func endValue() {
        expectation = containers.isEmpty ? .anotherValue : .separatorOrEnd
    }

    private mutating func becomePlain(_ byte: UInt8, to output: inout [UInt8]) {
        switch token {
        case .string, .literal, .number: put(style.end, to: &output)
        case .none, .plain: break
        }
        token = .plain
        sanitizer.add(byte, to: &output)
    }

    /// Writes the separator before a value.
    private func separate(to output: inout [UInt8]) {
        switch expectation {
        case .valueOrEnd: newLine(to: &output)
        case .anotherValue: output.append(10)
        default: break
        }
    }

    private func newLine(to output: inout [UInt8]) {
        output.append(10)
        output += repeatElement(0x20, count: containers.count * 2)
    }

    private func put(_ text: String, to output: inout [UInt8]) {
        output += text.utf8
    }
}
