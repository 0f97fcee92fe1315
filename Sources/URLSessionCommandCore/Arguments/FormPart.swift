/// One `-F` or `--form-string`: a part of a multipart form (RFC 7578).
package struct FormPart: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        case text(String)
        /// A file to attach; `-` is standard input.
        case attachment(String)
        /// The contents of a file as a text; `-` is standard input.
        case textOfFile(String)
    }

    package var name: String
    package var content: Content
    package var type: String?
    package var fileName: String?
    /// Further fields of the part.
    package var fields: [String] = []

    package init(name: String, _ content: Content) {
        self.name = name
        self.content = content
    }

    /// A value of `--form-string`.
    static func plain(_ value: String) throws(UsageError) -> FormPart {
        guard let equals = value.firstIndex(of: "=") else {
            throw UsageError("--form-string needs NAME=TEXT, not '\(value)'")
        }
        return FormPart(name: String(value[..<equals]), .text(String(value[value.index(after: equals)...])))
    }

    /// A value of `-F`: `name=text`, `name=@file` or `name=<file`, then `;type=`, `;filename=` and `;headers=`. Texts
    /// that contain a semicolon are written in quotation marks.
    static func written(_ value: String) throws(UsageError) -> FormPart {
        guard let equals = value.firstIndex(of: "=") else {
            throw UsageError("-F needs NAME=TEXT, NAME=@FILE or NAME=<FILE, not '\(value)'")
        }
        var reader = Reader(value[value.index(after: equals)...])
        var part = FormPart(name: String(value[..<equals]), .text(""))
        switch reader.rest.first {
        case "(", ")": throw UsageError("-F: parts within parts are not supported")
        case "@":
            reader.rest.removeFirst()
            part.content = .attachment(try reader.fileName())
        case "<":
            reader.rest.removeFirst()
            part.content = .textOfFile(try reader.fileName())
        default: part.content = .text(reader.word())
        }
        while let attribute = try reader.attribute() {
            switch attribute.name {
            case "type": part.type = attribute.value
            case "filename": part.fileName = attribute.value
            default: part.fields.append(attribute.value)
            }
        }
        return part
    }

    /// Reads words that end with a semicolon.
    private struct Reader {
        var rest: Substring

        private static let attributes = ["type=", "filename=", "headers=", "encoder="]

        init(_ rest: Substring) { self.rest = rest }

        mutating func fileName() throws(UsageError) -> String {
            skipBlanks()
            let isQuoted = rest.first == "\""
            let name = word()
            guard !name.isEmpty else { throw UsageError("-F needs the name of a file after @ or <") }
            guard isQuoted || !name.contains(",") else {
                throw UsageError("-F: one file for each -F; a name with a comma needs quotation marks")
            }
            return name
        }

        /// A quoted text, or everything up to the next semicolon.
        mutating func word() -> String {
            if rest.first == "\"", let quoted = quoted() { return quoted }
            let word = rest.prefix { $0 != ";" }
            rest = rest.dropFirst(word.count)
            return String(word)
        }

        private mutating func quoted() -> String? {
            var text = ""
            var index = rest.index(after: rest.startIndex)
            while index < rest.endIndex, rest[index] != "\"" {
                if rest[index] == "\\" {
                    let next = rest.index(after: index)
                    if next < rest.endIndex, rest[next] == "\"" || rest[next] == "\\" { index = next }
                }
                text.append(rest[index])
                index = rest.index(after: index)
            }
            guard index < rest.endIndex else { return nil }
            let after = rest[rest.index(after: index)...].drop { $0 == " " || $0 == "\t" }
            // Otherwise the quotation mark is part of the text.
            guard after.isEmpty || after.first == ";" else { return nil }
            rest = after
            return text
        }

        mutating func attribute() throws(UsageError) -> (name: String, value: String)? {
            guard !rest.isEmpty else { return nil }
            rest.removeFirst()
            skipBlanks()
            guard let name = Self.attributes.first(where: { rest.lowercased().hasPrefix($0) }) else {
                let unknown = rest.prefix { $0 != ";" }
                throw UsageError(
                    "-F: '\(unknown)' is not type=, filename= or headers=: put a text with a semicolon in quotation marks"
                )
            }
            rest = rest.dropFirst(name.count)
            switch name {
            case "encoder=": throw UsageError("-F: parts are sent as they are; encoder= is not supported")
            case "headers=":
                guard rest.first != "@", rest.first != "<" else {
                    throw UsageError("-F: headers= takes a field, not a file")
                }
                let field = word()
                guard field.contains(":"), !hasLineBreak(field) else {
                    throw UsageError("-F: headers= needs 'Name: value', not '\(field)'")
                }
                return ("headers", field)
            case "type=":
                let type = mediaType()
                guard type.contains("/"), !hasLineBreak(type) else {
                    throw UsageError("-F: '\(type)' is not a media type")
                }
                return ("type", type)
            default: return ("filename", word())
            }
        }

        /// A media type with its parameters, which semicolons separate as well.
        private mutating func mediaType() -> String {
            var type = word()
            while rest.first == ";" {
                let parameter = rest.dropFirst().drop { $0 == " " }
                guard !Self.attributes.contains(where: { parameter.lowercased().hasPrefix($0) }) else { break }
                rest.removeFirst()
                type += ";" + word()
            }
            return type
        }

        private func hasLineBreak(_ text: String) -> Bool { text.utf8.contains { $0 == 10 || $0 == 13 || $0 == 0 } }

        private mutating func skipBlanks() { rest = rest.drop { $0 == " " || $0 == "\t" } }
    }
}
