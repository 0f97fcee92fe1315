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
    /// can disguise the extension, or that dot: "gpj.exe" after U+202E is displayed as "exe.jpg".
    static func safeName(_ name: String) -> String? {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars where !isInvisible(scalar, after: scalars.last) {
            scalars.append(scalar == "/" ? "_" : scalar)
        }
        var rest = Substring(String(scalars))
        while let first = rest.unicodeScalars.first, isBlank(first) { rest.unicodeScalars.removeFirst() }
        while let last = rest.unicodeScalars.last, isBlank(last) || last == "." { rest.unicodeScalars.removeLast() }
        let dots = rest.unicodeScalars.prefix { $0 == "." }.count
        rest.unicodeScalars.removeFirst(dots)
        return rest.isEmpty ? nil : String(repeating: "_", count: dots) + rest
    }

    /// White space, and what is displayed like it.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{2800}"
    }

    /// Control, format and other characters that are not displayed (Default_Ignorable_Code_Point, Unicode §5.21).
    ///
    /// Joiners and variation selectors belong to the character before, in emoji and some scripts (Unicode §23.2,
    /// §23.4). They are kept once after a character that can have them: none of ASCII, except a digit of a keycap.
    private static func isInvisible(_ scalar: Unicode.Scalar, after last: Unicode.Scalar?) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: break
        }
        let isJoiner = scalar == "\u{200C}" || scalar == "\u{200D}"
        guard isJoiner || scalar.properties.isVariationSelector else {
            return scalar.properties.generalCategory == .format || scalar.properties.isDefaultIgnorableCodePoint
        }
        guard let last, !isBlank(last) else { return true }
        // A joiner may follow a variation selector.
        if last.properties.isVariationSelector { return !isJoiner }
        if last.properties.isDefaultIgnorableCodePoint { return true }
        return last.isASCII && !(scalar == "\u{FE0F}" && ("0"..."9" ~= last || last == "#" || last == "*"))
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
