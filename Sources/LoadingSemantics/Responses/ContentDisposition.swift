/// The file name of `Content-Disposition` (RFC 6266).
package enum ContentDisposition {
    /// The suggested file name, sanitized: without path and control characters. Nil if there is none (MISC-12).
    package static func filename(in value: String) -> String? {
        let value = FieldParameters(value)
        if let extended = value["filename*"], let name = decode(extended), let safe = safeName(name) { return safe }
        return value["filename"].flatMap(safeName)
    }

    /// A file name without a path: "/" is replaced by "_". Nil if nothing usable is left.
    ///
    /// A leading dot, which would hide the file, is replaced by "_" too. Invisible characters are removed, because they
    /// can disguise the extension: "gpj.exe" after U+202E is displayed as "exe.jpg".
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

    /// Control characters, and format characters except joiners (Unicode §23.2).
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    /// An extended value, `charset'language'percent-encoded` (RFC 8187 §3.2). Nil if it is malformed or has an
    /// unsupported charset.
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
