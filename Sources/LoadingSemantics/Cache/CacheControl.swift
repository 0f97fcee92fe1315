/// The directives of `Cache-Control` that apply to a private cache (RFC 9111 §5.2, RFC 8246).
///
/// Others are ignored: those for shared caches, `no-transform`, extensions, `stale-while-revalidate` and
/// `stale-if-error` (CACHE-32). The first of duplicate directives applies. A malformed argument has the most cautious
/// meaning. An unexpected argument is ignored: `no-cache="Set-Cookie"` means `no-cache`.
package struct CacheControl: Sendable, Equatable {
    /// The value of `max-stale`.
    package enum Staleness: Sendable, Equatable {
        case any
        case atMost(Int64)
    }

    /// In seconds. 0 if malformed.
    package private(set) var maxAge: Int64?
    /// Request directive. Nil also if malformed.
    package private(set) var maxStale: Staleness?
    /// Request directive, in seconds. If malformed, longer than any lifetime.
    package private(set) var minFresh: Int64?
    package private(set) var noCache = false
    package private(set) var noStore = false
    /// Request directive.
    package private(set) var onlyIfCached = false
    package private(set) var mustRevalidate = false
    package private(set) var mustUnderstand = false
    package private(set) var isPublic = false
    package private(set) var isPrivate = false
    package private(set) var isImmutable = false

    package init() {}

    /// Parses the directives of a request or a response.
    package init(_ fields: HTTPFields) {
        guard let first = fields.firstIndex(of: "Cache-Control") else { return }
        var hasStaleness = false
        // Each line is parsed separately, so an unterminated quoted string does not extend into the next line.
        for index in first..<fields.count where index == first || fields.isNamed("Cache-Control", at: index) {
            fields.withOctets(at: index) { octets in
                var reader = CacheDirectiveReader(octets)
                while let directive = reader.next() { take(directive, &hasStaleness) }
            }
        }
    }

    private mutating func take(_ directive: CacheDirectiveReader.Directive, _ hasStaleness: inout Bool) {
        if directive.isNamed("max-age") {
            maxAge = maxAge ?? Self.seconds(directive.argument) ?? 0
        } else if directive.isNamed("min-fresh") {
            minFresh = minFresh ?? Self.seconds(directive.argument) ?? .max
        } else if directive.isNamed("max-stale") {
            if !hasStaleness { maxStale = Self.staleness(directive.argument) }
            hasStaleness = true
        } else if directive.isNamed("no-cache") {
            noCache = true
        } else if directive.isNamed("no-store") {
            noStore = true
        } else if directive.isNamed("only-if-cached") {
            onlyIfCached = true
        } else if directive.isNamed("must-revalidate") {
            mustRevalidate = true
        } else if directive.isNamed("must-understand") {
            mustUnderstand = true
        } else if directive.isNamed("public") {
            isPublic = true
        } else if directive.isNamed("private") {
            isPrivate = true
        } else if directive.isNamed("immutable") {
            isImmutable = true
        }
    }

    private static func staleness(_ argument: CacheDirectiveReader.Directive.Argument) -> Staleness? {
        if case .none = argument { return .any }
        return seconds(argument).map(Staleness.atMost)
    }

    private static func seconds(_ argument: CacheDirectiveReader.Directive.Argument) -> Int64? {
        if case .text(let digits) = argument { DeltaSeconds.parse(digits) } else { nil }
    }
}
