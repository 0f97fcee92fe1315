/// How the bytes of a body become the bytes of the output.
package struct BodyPresenter: Sendable {
    private enum Form: Sendable {
        case exact
        case json(JSONHighlighter)
        case text(TextSanitizer)
        /// For a person, but the first bytes must be seen before it is known what they are.
        case undecided(MediaType)
        case refused
    }

    private let style: TextStyle
    private let isUTF8: Bool
    private var form: Form
    private var lastByte: UInt8 = 10

    /// `isForPerson` is false when a file or another program reads the output: then the bytes pass as they are.
    package init(mimeType: String?, isForPerson: Bool, style: TextStyle, isUTF8: Bool) {
        self.style = style
        self.isUTF8 = isUTF8
        let type = MediaType(mimeType)
        form = !isForPerson ? .exact : type == .binary ? .refused : .undecided(type)
    }

    /// A binary body that nobody can read on a terminal; nothing is printed then.
    package var isRefused: Bool {
        if case .refused = form { return true }
        return false
    }

    package var passesBytesUnchanged: Bool {
        if case .exact = form { return true }
        return false
    }

    package mutating func add(_ bytes: some Collection<UInt8>) -> [UInt8] {
        if case .undecided(let type) = form, !bytes.isEmpty { decide(type, bytes) }
        var output: [UInt8] = []
        switch form {
        case .exact: return Array(bytes)
        case .undecided, .refused: return []
        case .json(var highlighter):
            form = .exact
            output.reserveCapacity(bytes.count * 2)
            for byte in bytes { highlighter.add(byte, to: &output) }
            form = .json(highlighter)
        case .text(var sanitizer):
            form = .exact
            output.reserveCapacity(bytes.count)
            for byte in bytes { sanitizer.add(byte, to: &output) }
            form = .text(sanitizer)
        }
        if let last = output.last { lastByte = last }
        return output
    }

    /// What is still to be printed at the end; a terminal gets a last line break, so that the prompt stands alone.
    package mutating func finish() -> [UInt8] {
        var output: [UInt8] = []
        switch form {
        case .exact, .undecided, .refused: return []
        case .json(var highlighter): highlighter.finish(to: &output)
        case .text(var sanitizer): sanitizer.finish(to: &output)
        }
        if output.last ?? lastByte != 10 { output.append(10) }
        return output
    }

    private mutating func decide(_ type: MediaType, _ bytes: some Collection<UInt8>) {
        if MediaType.looksBinary(bytes) {
            form = .refused
        } else if type == .json {
            form = .json(JSONHighlighter(style: style, isUTF8: isUTF8))
        } else {
            form = .text(TextSanitizer(isUTF8: isUTF8))
        }
    }
}
