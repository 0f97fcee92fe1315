internal import CLoadingOctets

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

    /// The variant of a response that a program stores for a request of its own. Nil also if it varies by a field that
    /// loads add to such a request, with a value that depends on the load.
    init?(varyOf fields: HTTPFields, forStoring request: CacheRequest) {
        guard let names = Self.names(fields),
            !names.contains(where: { Self.ofTheLoad.contains($0) && !request.contains($0) })
        else { return nil }
        self.init(names: names, for: request)
    }

    /// Stored cookies and credentials.
    private static let ofTheLoad: Set = ["authorization", "cookie"]

    private init(names: [String], for request: CacheRequest) {
        self.names = names
        if names.isEmpty {
            fingerprint = []
            return
        }
        var text: [UInt8] = []
        text.reserveCapacity(64)
        var isPublic = true
        for name in names {
            let form = Form(ofFieldNamed: name)
            if form == .secret { isPublic = false }
            text.append(contentsOf: name.utf8)
            // A field value contains neither LF nor NUL, so the encoding is unambiguous.
            text.append(0x0A)
            Self.append(name, form, of: request, to: &text)
            text.append(0x0A)
        }
        fingerprint = isPublic && text.count <= Self.longestPublicText ? text : request.fingerprint(text)
    }

    /// Short values without secrets are stored without a hash, which costs more than the comparison.
    private static let longestPublicText = 256

    /// Which values of a field are equivalent.
    private enum Form {
        /// A list of case-insensitive tokens.
        case tokens
        /// The parameters may be quoted and case-sensitive.
        case mediaRanges
        case exact
        /// Exact, of a field that may contain a secret.
        case secret

        /// - Parameter name: In lower case.
        init(ofFieldNamed name: String) {
            switch name {
            case "accept-encoding", "accept-language", "accept-charset": self = .tokens
            case "accept": self = .mediaRanges
            case "origin": self = .exact
            default: self = .secret
            }
        }
    }

    /// Whether the named fields of the request have equivalent values.
    func matches(_ request: CacheRequest) -> Bool {
        names.isEmpty || CacheVariant(names: names, for: request).fingerprint == fingerprint
    }

    /// More names in `Vary` count as `*`: each of them costs time when a stored response is looked up.
    private static let mostNames = 64
    /// More names with their repetitions count as `*` too.
    private static let mostMembers = 1024

    /// The field names in `Vary`; nil if `*` is among them.
    static func names(_ fields: HTTPFields) -> [String]? {
        guard var index = fields.firstIndex(of: "Vary") else { return [] }
        var names: [String] = []
        var memberCount = 0
        while index < fields.count {
            if fields.isNamed("Vary", at: index) {
                for member in fields.octets(at: index).split(separator: UInt8(ascii: ",")) {
                    memberCount += 1
                    guard let name = lowercaseName(member), name != "*" else { return nil }
                    // There are few, so a look at each takes no longer than a set.
                    if !name.isEmpty, !names.contains(name) { names.append(name) }
                    if names.count > mostNames || memberCount > mostMembers { return nil }
                }
            }
            index += 1
        }
        if names.count > 1 { names.sort() }
        return names
    }

    /// Nil for what is not ASCII, which no field of a request can be named: such a `Vary` counts as `*`.
    private static func lowercaseName(_ member: ArraySlice<UInt8>) -> String? {
        member.withUnsafeBufferPointer { member in
            let name = OptionalWhitespace.trimmed(member)
            guard clo_end_of_ascii(name.baseAddress, 0, name.count) == name.count else { return nil }
            return String(unsafeUninitializedCapacity: name.count) { text in
                clo_copy_lowercase(text.baseAddress, name.baseAddress, name.count)
                return name.count
            }
        }
    }

    /// Appends the field lines combined and normalized, or NUL if the field is absent.
    private static func append(_ name: String, _ form: Form, of request: CacheRequest, to text: inout [UInt8]) {
        let start = text.count
        var isFirst = true
        request.forEachValue(of: name) { value in
            if !isFirst { text.append(contentsOf: ", ".utf8) }
            isFirst = false
            text.append(contentsOf: OptionalWhitespace.trimmed(value))
        }
        if isFirst { return text.append(0x00) }
        if form == .exact || form == .secret || form == .mediaRanges && text[start...].contains(UInt8(ascii: "\"")) {
            return
        }
        var end = start
        for index in start..<text.count where !OptionalWhitespace.contains(text[index]) {
            text[end] = form == .tokens ? asciiLowercase(text[index]) : text[index]
            end += 1
        }
        text.removeSubrange(end...)
    }
}
