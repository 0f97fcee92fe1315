/// One `-d`, `--data-binary`, `--data-raw` or `--data-urlencode`.
package struct DataPiece: Equatable, Sendable {
    package enum Source: Equatable, Sendable {
        case text(String)
        case file(String)
        case standardInput
    }

    package enum Coding: Equatable, Sendable {
        case exact
        /// Without CR, LF and NUL.
        case withoutLineBreaks
        /// Percent-encoded, with `+` for a blank, after a name with `=` unless it is nil.
        case urlEncoded(name: String?)
    }

    package var source: Source
    package var coding: Coding

    package init(_ source: Source, _ coding: Coding = .exact) {
        self.source = source
        self.coding = coding
    }

    /// A value of `-d`, `--data-binary` or `--json`: a text, `@FILE`, or `@-` for standard input.
    static func written(_ value: String, _ coding: Coding) throws(UsageError) -> DataPiece {
        guard value.hasPrefix("@") else { return DataPiece(.text(value)) }
        return DataPiece(try file(value.dropFirst()), coding)
    }

    /// A value of `--data-urlencode`, whose first `=` or `@` ends the name.
    static func encoded(_ value: String) throws(UsageError) -> DataPiece {
        guard let mark = value.firstIndex(where: { $0 == "=" || $0 == "@" }) else {
            return DataPiece(.text(value), .urlEncoded(name: nil))
        }
        let name = mark == value.startIndex ? nil : String(value[..<mark])
        let rest = value[value.index(after: mark)...]
        let source: Source = value[mark] == "=" ? .text(String(rest)) : try file(rest)
        return DataPiece(source, .urlEncoded(name: name))
    }

    private static func file(_ name: Substring) throws(UsageError) -> Source {
        if name == "-" { return .standardInput }
        guard !name.isEmpty else { throw UsageError("'@' needs the name of a file, or - for standard input") }
        return .file(String(name))
    }

    /// The text itself; nil for files and for what must be encoded.
    var plainText: String? {
        if case .text(let text) = source, coding == .exact { text } else { nil }
    }
}
