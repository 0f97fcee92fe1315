/// The directives of `Cache-Control` that mean something to a private cache (RFC 9111 §5.2, RFC 8246).
///
/// All others are read over: those for shared caches, `no-transform`, extensions, and `stale-while-revalidate` and
/// `stale-if-error` (CACHE-32). Of a directive that comes twice the first counts. An argument that cannot be read has
/// the most cautious meaning, and one that nobody asked for has none: `no-cache="Set-Cookie"` is `no-cache`.
package struct CacheControl: Sendable, Equatable {
    /// How stale a response a request takes.
    package enum Staleness: Sendable, Equatable {
        case any
        case atMost(Int64)
    }

    /// In seconds; 0 if it cannot be read.
    package private(set) var maxAge: Int64?
    /// Of requests. Nil also if it cannot be read.
    package private(set) var maxStale: Staleness?
    /// Of requests, in seconds; more than anything lasts if it cannot be read.
    package private(set) var minFresh: Int64?
    package private(set) var noCache = false
    package private(set) var noStore = false
    /// Of requests.
    package private(set) var onlyIfCached = false
    package private(set) var mustRevalidate = false
    package private(set) var mustUnderstand = false
    package private(set) var isPublic = false
    package private(set) var isPrivate = false
    package private(set) var isImmutable = false

    package init() {}

    /// The directives of a request or a response.
    package init(_ fields: HTTPFields) {
        var hasStaleness = false
        // Line by line, so that a quoted string without an end cannot reach into the next.
        for line in fields.values("Cache-Control") {
            var reader = CacheDirectiveReader(line)
            while let directive = reader.next() {
                switch directive.name {
                case "max-age": maxAge = maxAge ?? Self.seconds(directive.argument) ?? 0
                case "min-fresh": minFresh = minFresh ?? Self.seconds(directive.argument) ?? .max
                case "max-stale":
                    if !hasStaleness { maxStale = Self.staleness(directive.argument) }
                    hasStaleness = true
                case "no-cache": noCache = true
                case "no-store": noStore = true
                case "only-if-cached": onlyIfCached = true
                case "must-revalidate": mustRevalidate = true
                case "must-understand": mustUnderstand = true
                case "public": isPublic = true
                case "private": isPrivate = true
                case "immutable": isImmutable = true
                default: break
                }
            }
        }
    }

    private static func staleness(_ argument: CacheDirectiveReader.Directive.Argument) -> Staleness? {
        argument == .none ? .any : seconds(argument).map(Staleness.atMost)
    }

    private static func seconds(_ argument: CacheDirectiveReader.Directive.Argument) -> Int64? {
        if case .text(let digits) = argument { DeltaSeconds.parse(digits) } else { nil }
    }
}
