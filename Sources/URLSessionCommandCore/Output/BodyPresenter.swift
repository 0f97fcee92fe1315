/// Formats a body for output: unchanged for files and pipes, readable text for terminals.
package struct BodyPresenter: Sendable {
    private enum Form: Sendable {
        case exact
        case json(JSONHighlighter)
        case text(TextSanitizer)
        /// Formatted, but the form is decided when the first bytes arrive.
        case undecided(MediaType)
        case refused
    }

    private let style: TextStyle
    private let isUTF8: Bool
    private var form: Form
    private var lastByte: UInt8 = 10
    /// As the response names it.
    private let charset: String?
    /// Nil for UTF-8, and for exact bytes.
    private var decoder: CharsetDecoder?

    /// - Parameters:
    ///   - isFormatted: False if the output is a file or pipe. Then the bytes are unchanged.
    ///   - charset: That of the response's `Content-Type`.
    package init(mimeType: String?, charset: String? = nil, isFormatted: Bool, style: TextStyle, isUTF8: Bool) {
        self.style = style
        self.isUTF8 = isUTF8
        self.charset = charset
        let type = MediaType(mimeType)
        form = !isFormatted ? .exact : type == .binary ? .refused : .undecided(type)
    }

    /// Whether the body is binary and the output is a terminal. Then nothing is printed.
    package var isRefused: Bool {
        if case .refused = form { return true }
        return false
    }

    package var passesBytesUnchanged: Bool {
        if case .exact = form { return true }
        return false
    }

    package mutating func add(_ bytes: some Collection<UInt8>) -> [UInt8] {
        if case .exact = form { return Array(bytes) }
        if case .undecided(let type) = form, !bytes.isEmpty {
            decoder = CharsetDecoder(charset ?? CharsetDecoder.charset(in: bytes))
            let text = decoder?.add(bytes) ?? Array(bytes)
            // Of some charsets there is no text before the end.
            decide(type, text.isEmpty ? Array(bytes) : text)
            return present(text)
        }
        return present(decoder?.add(bytes) ?? Array(bytes))
    }

    /// Formats UTF-8.
    private mutating func present(_ bytes: some Collection<UInt8>) -> [UInt8] {
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

    /// The remaining output. Adds a line break if the last one is missing, so that the shell prompt begins on its own
    /// line.
    package mutating func finish() -> [UInt8] {
        var output = present(decoder?.finish() ?? [])
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
