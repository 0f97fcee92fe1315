/// The requests for which a stored response is valid: the fields that `Vary` names, with their values in the original
/// request (RFC 9111 §4.1).
package struct CacheVariant: Sendable, Hashable {
    /// In lower case, sorted, without duplicates. Empty without `Vary`.
    package let names: [String]
    /// Equal for requests whose named fields have equivalent values.
    package let fingerprint: [UInt8]

    /// A variant that was stored.
    package init(names: [String], fingerprint: [UInt8]) {
        self.names = names
        self.fingerprint = fingerprint
    }

    /// Returns nil for `Vary: *`, which no request matches.
    init?(varyOf fields: HTTPFields, for request: CacheRequest) {
        guard let names = Self.names(fields) else { return nil }
        self.init(names: names, for: request)
    }

    private init(names: [String], for request: CacheRequest) {
        self.names = names
        if names.isEmpty {
            fingerprint = []
            return
        }
        var text: [UInt8] = []
        for name in names {
            text += name.utf8
            // A field value contains neither LF nor NUL, so the encoding is unambiguous.
            text.append(0x0A)
            if let value = Self.normalized(name, in: request) { text += value } else { text.append(0x00) }
            text.append(0x0A)
        }
        let isPublic = text.count <= Self.longestPublicText && names.allSatisfy(Self.publicFields.contains)
        fingerprint = isPublic ? text : request.fingerprint(text)
    }

    /// Fields without secrets. Short values are stored without a hash, which costs more than the comparison.
    private static let publicFields: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "origin",
    ]
    private static let longestPublicText = 256

    /// Whether the named fields of the request have equivalent values.
    func matches(_ request: CacheRequest) -> Bool {
        names.isEmpty || CacheVariant(names: names, for: request).fingerprint == fingerprint
    }

    /// The field names in `Vary`; nil if `*` is among them.
    static func names(_ fields: HTTPFields) -> [String]? {
        guard fields.contains("Vary") else { return [] }
        var names: Set<String> = []
        for value in fields.values("Vary") {
            for member in value.utf8.split(separator: UInt8(ascii: ",")) {
                let name = String(decoding: OptionalWhitespace.trimmed(member).map(asciiLowercase), as: UTF8.self)
                if name == "*" { return nil }
                if !name.isEmpty { names.insert(name) }
            }
        }
        return names.sorted()
    }

    /// The field lines combined and normalized; nil if the field is absent.
    private static func normalized(_ name: String, in request: CacheRequest) -> [UInt8]? {
        let lines = request.values(name).map { OptionalWhitespace.trimmed($0.utf8) }
        guard !lines.isEmpty else { return nil }
        let joined = Array(lines.joined(separator: ", ".utf8))
        switch name {
        // Lists of case-insensitive tokens.
        case "accept-encoding", "accept-language", "accept-charset":
            return joined.filter { !OptionalWhitespace.contains($0) }.map(asciiLowercase)
        // The parameters of `Accept` may be quoted and case-sensitive.
        case "accept" where !joined.contains(UInt8(ascii: "\"")):
            return joined.filter { !OptionalWhitespace.contains($0) }
        default:
            return joined
        }
    }
}
