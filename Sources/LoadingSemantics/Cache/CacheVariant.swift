/// For which requests a stored response is meant: the fields that its `Vary` names, as they were in the request that
/// it answered (RFC 9111 §4.1).
package struct CacheVariant: Sendable, Hashable {
    /// In lower case, sorted, each once. Empty without `Vary`.
    package let names: [String]
    /// Equal for requests whose named fields are equal in meaning.
    package let fingerprint: [UInt8]

    /// What was once made by the other initializer.
    package init(names: [String], fingerprint: [UInt8]) {
        self.names = names
        self.fingerprint = fingerprint
    }

    /// Nil if no request can be told to be the same (`Vary: *`).
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
            // Neither can stand in a field, so nothing that is sent looks like two fields or like a missing one.
            text.append(0x0A)
            if let value = Self.normalized(name, in: request.fields) { text += value } else { text.append(0x00) }
            text.append(0x0A)
        }
        let isPlain = text.count <= Self.longestPlainText && names.allSatisfy(Self.plainNames.contains)
        fingerprint = isPlain ? text : request.fingerprint(text)
    }

    /// What these say is no secret, and most responses that vary do so by them: a hash is not worth its price.
    private static let plainNames: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "origin",
    ]
    private static let longestPlainText = 256

    /// Whether a request has the same fields.
    func matches(_ request: CacheRequest) -> Bool {
        names.isEmpty || CacheVariant(names: names, for: request).fingerprint == fingerprint
    }

    /// What `Vary` names: nil for `*`, also among others.
    static func names(_ fields: HTTPFields) -> [String]? {
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

    /// The field's lines as one, without what means nothing; nil if there is none.
    private static func normalized(_ name: String, in fields: HTTPFields) -> [UInt8]? {
        let lines = fields.values(name).map { OptionalWhitespace.trimmed($0.utf8) }
        guard !lines.isEmpty else { return nil }
        let joined = Array(lines.joined(separator: ", ".utf8))
        switch name {
        // Lists of tokens, whose case means nothing.
        case "accept-encoding", "accept-language", "accept-charset":
            return joined.filter { !OptionalWhitespace.contains($0) }.map(asciiLowercase)
        // A list too, but its parameters may be quoted and may be in either case.
        case "accept" where !joined.contains(UInt8(ascii: "\"")):
            return joined.filter { !OptionalWhitespace.contains($0) }
        default:
            return joined
        }
    }
}
