/// The parts of a request that the cache rules use. Immutable, and an object, so that it is cheap to pass on.
package final class CacheRequest: Sendable {
    /// Maps a long or secret value to a short one. Distinct values must have distinct results.
    package typealias Fingerprint = @Sendable ([UInt8]) -> [UInt8]

    package let method: String
    package let url: HTTPURL
    /// All fields as sent, including those of the loader, because `Vary` may name any. In two sections, which have no
    /// name in common, so that they need not be joined for each request.
    private let fields: HTTPFields
    private let defaults: HTTPFields
    /// See `CachePolicy.effective`.
    package let policy: CachePolicy
    /// Identifies variants. Persistent stores use a cryptographic hash, because `Vary` may name `Cookie` and
    /// `Authorization`.
    package let fingerprint: Fingerprint
    /// Which of the fields with a meaning for the rules there are. Nearly no request has one.
    private let named: Named

    private struct Named: OptionSet {
        let rawValue: UInt8

        /// Not the one of `SetAlgebra`, which in a debug build goes through four others.
        func contains(_ member: Self) -> Bool { rawValue & member.rawValue == member.rawValue }

        static let control = Named(rawValue: 1)
        static let pragma = Named(rawValue: 2)
        static let range = Named(rawValue: 4)
        static let condition = Named(rawValue: 8)
    }

    /// - Parameter defaults: More fields, of other names.
    package init(
        method: String = "GET", url: HTTPURL, fields: HTTPFields = HTTPFields(), defaults: HTTPFields = HTTPFields(),
        policy: CachePolicy = .useProtocolCachePolicy, fingerprint: @escaping Fingerprint = { $0 }
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.defaults = defaults
        self.policy = policy
        self.fingerprint = fingerprint
        named = Self.named(in: fields).union(Self.named(in: defaults))
    }

    /// One pass over the first letters of the names.
    private static func named(in fields: HTTPFields) -> Named {
        var found = Named(rawValue: 0)
        for index in fields.positions.indices {
            switch fields.firstLetter(ofNameAt: index) {
            case UInt8(ascii: "c") where fields.isNamed("Cache-Control", at: index): found.insert(.control)
            case UInt8(ascii: "p") where fields.isNamed("Pragma", at: index): found.insert(.pragma)
            case UInt8(ascii: "r") where fields.isNamed("Range", at: index): found.insert(.range)
            case UInt8(ascii: "i") where conditions.contains { fields.isNamed($0, at: index) }: found.insert(.condition)
            default: break
            }
        }
        return found
    }

    private static let conditions = [
        "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
    ]

    var control: CacheControl {
        guard hasControl else { return CacheControl() }
        return CacheControl(fields.contains("Cache-Control") ? fields : defaults)
    }
    var hasControl: Bool { named.contains(.control) }
    var hasPragma: Bool { named.contains(.pragma) }

    /// `Pragma: no-cache` applies if there is no `Cache-Control` (RFC 9111 §5.4).
    var directives: (control: CacheControl, noCache: Bool) {
        let control = control
        if hasControl { return (control, control.noCache) }
        guard hasPragma else { return (control, false) }
        let words = values("Pragma").joined(separator: ",").utf8.split {
            OptionalWhitespace.contains($0) || $0 == UInt8(ascii: ",")
        }
        return (control, words.contains { $0.map(asciiLowercase).elementsEqual("no-cache".utf8) })
    }

    /// Whether the caller has set conditional fields (CACHE-15).
    var isConditional: Bool { named.contains(.condition) }

    package var isForRange: Bool { named.contains(.range) }

    /// The range of bytes that the request asks for; nil if it asks for several, or for none.
    var range: RequestedRange? {
        guard isForRange, case let ranges = values("Range"), ranges.count == 1 else { return nil }
        return RequestedRange(ranges[0])
    }

    /// The values of all fields with that name, in order.
    private func values(_ name: String) -> [String] {
        let own = fields.values(name)
        return own.isEmpty ? defaults.values(name) : own
    }

    func contains(_ name: String) -> Bool { fields.contains(name) || defaults.contains(name) }

    /// Calls `body` with the octets of each value of the fields with that name, in order.
    func forEachValue(of name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        var section = fields
        var first = fields.firstIndex(of: name)
        if first == nil { (section, first) = (defaults, defaults.firstIndex(of: name)) }
        guard let first else { return }
        section.withOctets(at: first, body)
        for index in (first + 1)..<section.count where section.isNamed(name, at: index) {
            section.withOctets(at: index, body)
        }
    }
}
