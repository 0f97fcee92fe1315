/// The text of a configuration file, in curl's format: a switch on each line, with or without its dashes, and its value
/// after a blank, `=` or `:`. A value with blanks is quoted, with `\\`, `\"`, `\t`, `\n`, `\r` and `\v`.
enum ConfigurationText {
    struct Entry: Equatable {
        var line: Int
        /// Without dashes.
        var name: String
        /// Whether it was written with one dash.
        var isLetter: Bool
        var value: String?
    }

    static func entries(of text: String, _ path: String) throws(UsageError) -> [Entry] {
        var entries: [Entry] = []
        // As in curl. Other line breaks of Unicode may be part of a value.
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let line = line.drop(while: \.isWhitespace)
            if line.isEmpty || line.first == "#" { continue }
            entries.append(try entry(line, index + 1, path))
        }
        return entries
    }

    private static func entry(_ line: Substring, _ number: Int, _ path: String) throws(UsageError) -> Entry {
        let isDashed = line.hasPrefix("-")
        let written = line.prefix { !$0.isWhitespace && (isDashed || $0 != "=" && $0 != ":") }
        let rest = value(after: line.dropFirst(written.count), isDashed)
        let isLetter = isDashed && !written.hasPrefix("--")
        var name = written.drop { $0 == "-" }
        var value: String?
        if rest.first == "\"" {
            guard let (text, after) = unquoted(rest.dropFirst()), isEnd(after) else {
                throw UsageError("'\(path)', line \(number): the quotation marks do not match")
            }
            value = text
        } else {
            let word = rest.prefix { !$0.isWhitespace }
            guard isEnd(rest.dropFirst(word.count)) else {
                throw UsageError("'\(path)', line \(number): a value with blanks needs quotation marks")
            }
            value = word.isEmpty || word.first == "#" ? nil : String(word)
        }
        // `-XPUT`
        if isLetter, name.count > 1, value == nil {
            value = String(name.dropFirst())
            name = name.prefix(1)
        }
        return Entry(line: number, name: String(name), isLetter: isLetter && name.count == 1, value: value)
    }

    /// Between a switch without dashes and its value there may be one separator. A colon after a blank is one only if
    /// another blank follows: in `url :8080` it belongs to the value.
    private static func value(after rest: Substring, _ isDashed: Bool) -> Substring {
        let value = rest.drop(while: \.isWhitespace)
        guard !isDashed, let first = value.first, first == "=" || first == ":" else { return value }
        let isAttached = value.startIndex == rest.startIndex
        let next = value.dropFirst()
        guard first == "=" || isAttached || next.first?.isWhitespace ?? true else { return value }
        return next.drop(while: \.isWhitespace)
    }

    private static func isEnd(_ rest: Substring) -> Bool {
        let rest = rest.drop(while: \.isWhitespace)
        return rest.isEmpty || rest.first == "#"
    }

    private static func unquoted(_ text: Substring) -> (String, Substring)? {
        var result = ""
        var rest = text
        while let character = rest.popFirst() {
            switch character {
            case "\"": return (result, rest)
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                switch escaped {
                case "t": result.append("\t")
                case "n": result.append("\n")
                case "r": result.append("\r")
                case "v": result.append("\u{B}")
                default: result.append(escaped)
                }
            default: result.append(character)
            }
        }
        return nil
    }
}
