/// The file name in `Content-Disposition` (RFC 6266).
package enum ContentDisposition {
    /// The name that a server suggests, made safe: no path, no control characters; nil if there is none (MISC-12).
    package static func filename(in value: String) -> String? {
        let value = FieldParameters(value)
        if let extended = value["filename*"], let name = decode(extended), let safe = safeName(name) { return safe }
        return value["filename"].flatMap(safeName)
    }

    /// A file name without a path: each "/" becomes "_". Nil if nothing usable is left.
    ///
    /// What would hide the file (a dot at the start) becomes "_" too. What does not show goes, and with it what has the name
    /// read as another: "gpj.exe" behind U+202E shows as "exe.jpg".
    static func safeName(_ name: String) -> String? {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars where !isInvisible(scalar) { scalars.append(scalar == "/" ? "_" : scalar) }
        var rest = Substring(String(scalars))
        while rest.first == " " { rest.removeFirst() }
        while let last = rest.unicodeScalars.last, last == " " || last == "." { rest.unicodeScalars.removeLast() }
        let dots = rest.unicodeScalars.prefix { $0 == "." }.count
        rest.unicodeScalars.removeFirst(dots)
        return rest.isEmpty ? nil : String(repeating: "_", count: dots) + rest
    }

    /// Controls, and formats but those that join letters (Unicode §23.2).
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    /// An extended value, `charset'language'percent-encoded` (RFC 8187 §3.2); nil if malformed or in another charset.
    private static func decode(_ value: String) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentEncoding.decode(parts[2]) else { return nil }
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(decoding: bytes.map(UInt16.init), as: UTF16.self)
        default: return nil
        }
    }
}
