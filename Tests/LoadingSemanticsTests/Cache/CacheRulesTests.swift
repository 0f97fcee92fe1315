import LoadingSemantics
import Testing

@Suite struct CacheRulesTests {
    /// A decision in one word, so that a table stays readable.
    enum Outcome: Sendable, Equatable {
        case serve, validate, load, fail
    }

    private func outcome(_ decision: CacheDecision) -> Outcome {
        switch decision {
        case .serve, .servePart: .serve
        case .revalidate: .validate
        case .load: .load
        case .fail: .fail
        }
    }

    private func decide(
        _ stored: [StoredResponse]?, _ requestFields: [(String, String)] = [], method: String = "GET",
        url: String = "https://a.example/x", policy: CachePolicy = .useProtocolCachePolicy, after seconds: Int64 = 10,
        bodyLengths: [Int64] = []
    ) throws -> CacheDecision {
        let request = try CacheFixtures.request(requestFields, method: method, url: url, policy: policy)
        return CacheRules.decide(
            request, stored: stored, bodyLengths: bodyLengths, now: CacheFixtures.start + seconds)
    }

    private static let fresh = [("Cache-Control", "max-age=60"), ("ETag", CacheFixtures.tag)]
    private static let stale = [("Cache-Control", "max-age=5"), ("ETag", CacheFixtures.tag)]

    // MARK: Responses

    struct ResponseRow: Sendable, CustomTestStringConvertible {
        let fields: [(String, String)]
        let outcome: Outcome
        let because: CacheReason
        var testDescription: String { "\(fields)" }
    }

    // CACHE-7, CACHE-16, CACHE-17, CACHE-32: ten seconds after they came
    @Test(arguments: [
        ResponseRow(fields: fresh, outcome: .serve, because: .fresh),
        ResponseRow(fields: stale, outcome: .validate, because: .stale),
        ResponseRow(fields: [("Cache-Control", "max-age=10")], outcome: .load, because: .stale),
        ResponseRow(fields: [("Cache-Control", "max-age=11")], outcome: .serve, because: .fresh),
        ResponseRow(fields: [("Cache-Control", "max-age=0")], outcome: .load, because: .stale),
        ResponseRow(fields: [("Cache-Control", "public")], outcome: .load, because: .stale),
        ResponseRow(fields: [("Cache-Control", "private")], outcome: .load, because: .stale),
        ResponseRow(fields: [("Cache-Control", "no-cache")], outcome: .load, because: .responseNoCache),
        ResponseRow(
            fields: [("Cache-Control", "no-cache, max-age=60"), ("ETag", CacheFixtures.tag)], outcome: .validate,
            because: .responseNoCache),
        ResponseRow(
            fields: [("Cache-Control", #"no-cache="Set-Cookie", max-age=60"#), ("ETag", CacheFixtures.tag)],
            outcome: .validate, because: .responseNoCache),
        ResponseRow(fields: [("Expires", CacheFixtures.date(60))], outcome: .serve, because: .fresh),
        ResponseRow(fields: [("Last-Modified", CacheFixtures.date(-6000))], outcome: .serve, because: .fresh),
        ResponseRow(fields: [("Last-Modified", CacheFixtures.date(-60))], outcome: .validate, because: .stale),
        ResponseRow(fields: [("ETag", CacheFixtures.tag)], outcome: .validate, because: .stale),
        ResponseRow(fields: [], outcome: .load, because: .stale),
        ResponseRow(
            fields: [("Cache-Control", "max-age=60, must-revalidate")], outcome: .serve, because: .fresh),
        ResponseRow(
            fields: [("Cache-Control", "max-age=5, stale-while-revalidate=60")], outcome: .load, because: .stale),
        ResponseRow(fields: [("Cache-Control", "max-age=60"), ("Age", "50")], outcome: .load, because: .stale),
        // `no-cache` in Pragma of a response has no effect (RFC 9111 §5.4).
        ResponseRow(
            fields: [("Cache-Control", "max-age=60"), ("Pragma", "no-cache")], outcome: .serve, because: .fresh),
    ])
    func responses(row: ResponseRow) throws {
        let decision = try decide([CacheFixtures.response(row.fields)])
        #expect(outcome(decision) == row.outcome)
        #expect(decision.reason == row.because)
    }

    // R-26: a permanent redirect is served like other responses.
    @Test(arguments: [301, 308])
    func redirects(status: Int) throws {
        let stored = try CacheFixtures.response(
            [("Location", "/y"), ("Cache-Control", "max-age=60")], status: status)
        #expect(try decide([stored]) == .serve(0, age: 10, because: .fresh))
        let bare = try CacheFixtures.response([("Location", "/y")], status: status)
        #expect(try decide([bare]) == .load(adding: HTTPFields(), because: .stale))
    }

    // A hit has `Age` (RFC 9111 §4, §5.1).
    @Test func ageOfAHit() throws {
        let stored = try CacheFixtures.response(
            [("Cache-Control", "max-age=60"), ("Age", "20"), ("X", "1")], delay: 2)
        let decision = try decide([stored])
        #expect(decision == .serve(0, age: 32, because: .fresh))
        #expect(stored.fields(age: 32).values("Age") == ["32"])
        #expect(stored.fields(age: 32).values("X") == ["1"])
        #expect(stored.fields(age: .max).values("Age") == ["2147483648"])
    }

    // MARK: Requests

    struct RequestRow: Sendable, CustomTestStringConvertible {
        let request: String
        let response: String
        let outcome: Outcome
        let because: CacheReason
        var testDescription: String { "\(request) / \(response)" }
    }

    // CACHE-17: RFC 9111 §5.2.1, ten seconds after the response came
    @Test(arguments: [
        RequestRow(request: "no-cache", response: "max-age=60", outcome: .validate, because: .requestNoCache),
        RequestRow(request: "no-store", response: "max-age=60", outcome: .serve, because: .fresh),
        RequestRow(request: "no-transform", response: "max-age=60", outcome: .serve, because: .fresh),
        RequestRow(request: "max-age=0", response: "max-age=60", outcome: .validate, because: .notFreshEnough),
        RequestRow(request: "max-age=9", response: "max-age=60", outcome: .validate, because: .notFreshEnough),
        // An age of 10 seconds may be almost 11.
        RequestRow(request: "max-age=10", response: "max-age=60", outcome: .validate, because: .notFreshEnough),
        RequestRow(request: "max-age=11", response: "max-age=60", outcome: .serve, because: .fresh),
        RequestRow(request: "max-age=x", response: "max-age=60", outcome: .validate, because: .notFreshEnough),
        RequestRow(request: "max-age=99", response: "max-age=5", outcome: .validate, because: .stale),
        RequestRow(request: "min-fresh=50", response: "max-age=60", outcome: .serve, because: .fresh),
        RequestRow(request: "min-fresh=51", response: "max-age=60", outcome: .validate, because: .notFreshEnough),
        RequestRow(request: "min-fresh=x", response: "max-age=60", outcome: .validate, because: .notFreshEnough),
        RequestRow(request: "max-stale", response: "max-age=5", outcome: .serve, because: .staleAllowed),
        RequestRow(request: "max-stale=5", response: "max-age=5", outcome: .serve, because: .staleAllowed),
        RequestRow(request: "max-stale=4", response: "max-age=5", outcome: .validate, because: .stale),
        RequestRow(request: "max-stale=x", response: "max-age=5", outcome: .validate, because: .stale),
        RequestRow(request: "max-stale", response: "max-age=5, must-revalidate", outcome: .validate, because: .stale),
        RequestRow(
            request: "max-stale", response: "max-age=5, proxy-revalidate", outcome: .serve, because: .staleAllowed),
        RequestRow(request: "max-stale", response: "no-cache", outcome: .validate, because: .responseNoCache),
        RequestRow(request: "max-stale", response: "public", outcome: .validate, because: .stale),
        RequestRow(
            request: "max-stale, max-age=9", response: "max-age=5", outcome: .validate, because: .notFreshEnough),
        RequestRow(
            request: "max-stale, min-fresh=1", response: "max-age=5", outcome: .validate, because: .notFreshEnough),
        RequestRow(request: "only-if-cached", response: "max-age=60", outcome: .serve, because: .fresh),
        RequestRow(request: "only-if-cached", response: "max-age=5", outcome: .fail, because: .stale),
        RequestRow(
            request: "only-if-cached, max-stale", response: "max-age=5", outcome: .serve, because: .staleAllowed),
        // RFC 8246: an immutable response is not validated, unless the request has `no-cache`.
        RequestRow(request: "max-age=0", response: "max-age=60, immutable", outcome: .serve, because: .fresh),
        RequestRow(
            request: "no-cache", response: "max-age=60, immutable", outcome: .validate, because: .requestNoCache),
        RequestRow(
            request: "max-age=0, max-stale", response: "max-age=5, immutable", outcome: .validate,
            because: .notFreshEnough),
        RequestRow(request: "", response: "max-age=5, immutable", outcome: .validate, because: .stale),
    ])
    func requestDirectives(row: RequestRow) throws {
        let stored = try CacheFixtures.response([("Cache-Control", row.response), ("ETag", CacheFixtures.tag)])
        let decision = try decide([stored], [("Cache-Control", row.request)])
        #expect(outcome(decision) == row.outcome)
        #expect(decision.reason == row.because)
    }

    // RFC 8246 §3: over http, the directive may have been inserted on the path.
    @Test func immutableNeedsSecurity() throws {
        let stored = try CacheFixtures.response([("Cache-Control", "max-age=60, immutable")])
        let decision = try decide([stored], [("Cache-Control", "max-age=0")], url: "http://a.example/x")
        #expect(decision == .load(adding: HTTPFields(), because: .notFreshEnough))
    }

    // RFC 9111 §5.4
    @Test func pragmaOfRequests() throws {
        let stored = try CacheFixtures.response(Self.fresh)
        #expect(try decide([stored], [("Pragma", "x, No-Cache")]).reason == .requestNoCache)
        #expect(try decide([stored], [("Pragma", "no-cacheable")]).reason == .fresh)
        #expect(
            try decide([stored], [("Pragma", "no-cache"), ("Cache-Control", "max-age=60")]).reason == .fresh)
    }

    // CACHE-9: RFC 9111 §5.2.1.7. Unsafe requests are sent.
    @Test func onlyIfCachedWithoutResponse() throws {
        let only = [("Cache-Control", "only-if-cached")]
        #expect(try decide([], only) == .fail(.resourceUnavailable, because: .nothingStored))
        #expect(try decide([], only, method: "POST") == .load(adding: HTTPFields(), because: .notCacheable))
        #expect(try decide(nil, only) == .load(adding: HTTPFields(), because: .noCache))
    }

    // MARK: Policies

    struct PolicyRow: Sendable, CustomTestStringConvertible {
        let policy: CachePolicy
        let nothing: Outcome
        let fresh: Outcome
        let stale: Outcome
        let noCache: Outcome
        let withoutCache: Outcome
        var testDescription: String { "\(policy)" }
    }

    // CACHE-7, CACHE-8, CACHE-9, CACHE-10, CACHE-11, CACHE-12, C-27
    @Test(arguments: [
        PolicyRow(
            policy: .useProtocolCachePolicy, nothing: .load, fresh: .serve, stale: .validate, noCache: .validate,
            withoutCache: .load),
        PolicyRow(
            policy: .reloadIgnoringLocalCacheData, nothing: .load, fresh: .load, stale: .load, noCache: .load,
            withoutCache: .load),
        PolicyRow(
            policy: .returnCacheDataElseLoad, nothing: .load, fresh: .serve, stale: .serve, noCache: .serve,
            withoutCache: .load),
        PolicyRow(
            policy: .returnCacheDataDontLoad, nothing: .fail, fresh: .serve, stale: .serve, noCache: .serve,
            withoutCache: .fail),
        PolicyRow(
            policy: .reloadIgnoringLocalAndRemoteCacheData, nothing: .load, fresh: .load, stale: .load, noCache: .load,
            withoutCache: .load),
        PolicyRow(
            policy: .reloadRevalidatingCacheData, nothing: .load, fresh: .validate, stale: .validate,
            noCache: .validate, withoutCache: .load),
    ])
    func policies(row: PolicyRow) throws {
        #expect(outcome(try decide([], policy: row.policy)) == row.nothing)
        #expect(outcome(try decide([CacheFixtures.response(Self.fresh)], policy: row.policy)) == row.fresh)
        #expect(outcome(try decide([CacheFixtures.response(Self.stale)], policy: row.policy)) == row.stale)
        let noCache = try CacheFixtures.response([("Cache-Control", "no-cache"), ("ETag", CacheFixtures.tag)])
        #expect(outcome(try decide([noCache], policy: row.policy)) == row.noCache)
        #expect(outcome(try decide(nil, policy: row.policy)) == row.withoutCache)
    }

    // CACHE-9
    @Test func errorOfAMiss() throws {
        let decision = try decide([], policy: .returnCacheDataDontLoad)
        #expect(decision == .fail(.resourceUnavailable, because: .nothingStored))
        #expect(LoadError.resourceUnavailable.code == -1008)
    }

    // CACHE-8: directives of the request are ignored too.
    @Test(arguments: ["no-cache", "max-age=0", "min-fresh=99999", "no-store"])
    func requestDirectivesAreIgnoredByPolicy(request: String) throws {
        let stored = try CacheFixtures.response(Self.stale)
        for policy in [CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad] {
            let decision = try decide([stored], [("Cache-Control", request)], policy: policy)
            #expect(decision == .serve(0, age: 10, because: .policy))
        }
    }

    // CACHE-10, CACHE-11: the caller's own fields are not replaced, and a POST is answered by no cache.
    @Test(arguments: [CachePolicy.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData])
    func reloadsSendNoCache(policy: CachePolicy) throws {
        let both = HTTPFields([("Cache-Control", "no-cache"), ("Pragma", "no-cache")])
        let stored = try [CacheFixtures.response(Self.fresh)]
        #expect(try decide(stored, policy: policy) == .load(adding: both, because: .policy))
        #expect(try decide(stored, method: "HEAD", policy: policy) == .load(adding: both, because: .policy))
        #expect(try decide(nil, policy: policy) == .load(adding: both, because: .noCache))
        #expect(try decide(stored, method: "POST", policy: policy) == .load(adding: HTTPFields(), because: .policy))
        #expect(
            try decide(stored, [("cache-control", "max-age=5")], policy: policy)
                == .load(adding: HTTPFields([("Pragma", "no-cache")]), because: .policy))
        #expect(
            try decide(stored, [("cache-control", "max-age=5"), ("pragma", "x")], policy: policy)
                == .load(adding: HTTPFields(), because: .policy))
    }

    // CACHE-12, CACHE-13: no cache on the way may confirm it.
    @Test func revalidatingAsksTheOrigin() throws {
        let stored = try CacheFixtures.response(Self.fresh)
        let policy = CachePolicy.reloadRevalidatingCacheData
        #expect(
            try decide([stored], policy: policy)
                == .revalidate(
                    [0],
                    adding: HTTPFields([("Cache-Control", "max-age=0"), ("If-None-Match", CacheFixtures.tag)]),
                    because: .policy))
        let without = try CacheFixtures.response([("Cache-Control", "max-age=60")])
        #expect(
            try decide([without], policy: policy)
                == .load(adding: HTTPFields([("Cache-Control", "max-age=0")]), because: .policy))
    }

    // MARK: Validation

    struct ValidationRow: Sendable, CustomTestStringConvertible {
        let stored: [(String, String)]
        /// Empty for none: then it is loaded.
        let sent: [(String, String)]
        var testDescription: String { "\(stored)" }
    }

    // CACHE-13, CACHE-16: RFC 9111 §4.3.1
    @Test(arguments: [
        ValidationRow(stored: [("ETag", #""a""#)], sent: [("If-None-Match", #""a""#)]),
        ValidationRow(stored: [("ETag", #"W/"a""#)], sent: [("If-None-Match", #"W/"a""#)]),
        ValidationRow(stored: [("ETag", "a")], sent: [("If-None-Match", "a")]),
        // A space is no character of a tag, but servers that write it must get it back.
        ValidationRow(stored: [("ETag", #""a b""#)], sent: [("If-None-Match", #""a b""#)]),
        ValidationRow(
            stored: [("Last-Modified", CacheFixtures.date(-60))],
            sent: [("If-Modified-Since", CacheFixtures.date(-60))]),
        ValidationRow(
            stored: [("ETag", #""a""#), ("Last-Modified", CacheFixtures.date(-60))],
            sent: [("If-None-Match", #""a""#), ("If-Modified-Since", CacheFixtures.date(-60))]),
        ValidationRow(
            stored: [("Last-Modified", "Sunday, 06-Nov-94 08:49:37 GMT"), ("Cache-Control", "max-age=0")],
            sent: [("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")]),
        ValidationRow(stored: [("Last-Modified", "yesterday")], sent: []),
        // RFC 9110 §13.1.2: `*` is no entity tag and matches any; in quotation marks it is one.
        ValidationRow(stored: [("ETag", "*")], sent: []),
        ValidationRow(stored: [("ETag", #"*, "a""#)], sent: []),
        ValidationRow(
            stored: [("ETag", "*"), ("Last-Modified", CacheFixtures.date(-60))],
            sent: [("If-Modified-Since", CacheFixtures.date(-60))]),
        ValidationRow(stored: [("ETag", #""*""#)], sent: [("If-None-Match", #""*""#)]),
        ValidationRow(stored: [], sent: []),
    ])
    func validators(row: ValidationRow) throws {
        let decision = try decide([CacheFixtures.response(row.stored)])
        let fields = HTTPFields(row.sent)
        let expected: CacheDecision =
            row.sent.isEmpty
            ? .load(adding: fields, because: .stale) : .revalidate([0], adding: fields, because: .stale)
        #expect(decision == expected)
    }

    // CACHE-25, CACHE-26: responses from other caches cannot inject lines into a request.
    @Test(arguments: ["", "\"a\"\r\nX: 1", "\"a\"\n", "\u{0}", "\u{7F}"])
    func invalidEntityTags(tag: String) throws {
        let date = CacheFixtures.date(0)
        let tagged = StoredResponse(status: 200, fields: HTTPFields([("ETag", tag), ("Date", date)]))
        #expect(try decide([tagged]) == .load(adding: HTTPFields(), because: .stale))
        let dated = StoredResponse(
            status: 200, fields: HTTPFields([("Last-Modified", date + "\r\nX: 1"), ("Date", date)]))
        #expect(try decide([dated]) == .load(adding: HTTPFields(), because: .stale))
    }

    // RFC 9111 §4.3.5
    @Test func markedResponsesAreValidated() throws {
        var stored = try CacheFixtures.response(Self.fresh)
        stored.needsValidation = true
        #expect(try decide([stored]).reason == .needsValidation)
        #expect(outcome(try decide([stored])) == .validate)
        #expect(outcome(try decide([stored], policy: .returnCacheDataElseLoad)) == .serve)
    }

    // RFC 9111 §4: with an unknown age, the response is validated.
    @Test func clockSetBack() throws {
        let stored = try CacheFixtures.response(Self.fresh)
        #expect(try decide([stored], after: -1).reason == .clockMovedBack)
        #expect(
            try decide([stored], policy: .returnCacheDataDontLoad, after: -1) == .serve(0, age: nil, because: .policy))
    }

    // MARK: Requests that bypass the cache

    // CACHE-1, CACHE-19: HEAD too
    @Test(arguments: ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "get", "QUERY"])
    func otherMethods(method: String) throws {
        let stored = try CacheFixtures.response(Self.fresh)
        #expect(try decide([stored], method: method) == .load(adding: HTTPFields(), because: .notCacheable))
        #expect(
            try decide([stored], method: method, policy: .returnCacheDataDontLoad)
                == .fail(.resourceUnavailable, because: .notCacheable))
    }

    // CACHE-1
    @Test func otherSchemes() throws {
        let stored = try CacheFixtures.response(Self.fresh)
        #expect(
            try decide([stored], url: "wss://a.example/x") == .load(adding: HTTPFields(), because: .notCacheable))
    }

    // CACHE-20
    @Test(arguments: [CachePolicy.useProtocolCachePolicy, .returnCacheDataElseLoad, .reloadRevalidatingCacheData])
    func ranges(policy: CachePolicy) throws {
        let stored = try CacheFixtures.response(Self.fresh)
        let decision = try decide([stored], [("Range", "bytes=0-1")], policy: policy)
        #expect(outcome(decision) == .load)
        #expect(decision.reason == .range)
    }

    struct PartRow: Sendable, CustomTestStringConvertible {
        var request = [("Range", "bytes=2-4")]
        var stored = [("Cache-Control", "max-age=60")]
        var status = 200
        var policy = CachePolicy.useProtocolCachePolicy
        var part: ClosedRange<Int64>?
        var because = CacheReason.range
        var testDescription: String { "\(request), \(stored), \(status), \(policy)" }
    }

    // CACHE-8, CACHE-15, CACHE-18, CACHE-20: RFC 9110 §14.2. The stored body has 10 bytes.
    @Test(arguments: [
        PartRow(part: 2...4, because: .fresh),
        PartRow(request: [("Range", "bytes=-3")], part: 7...9, because: .fresh),
        PartRow(
            stored: [("Cache-Control", "max-age=60"), ("Content-Encoding", "identity")], part: 2...4, because: .fresh),
        PartRow(stored: stale, policy: .returnCacheDataElseLoad, part: 2...4, because: .policy),
        PartRow(
            request: [("Range", "bytes=2-4"), ("Cache-Control", "max-stale")], stored: stale, part: 2...4,
            because: .staleAllowed),
        // The whole response would be validated.
        PartRow(stored: stale),
        PartRow(request: [("Range", "bytes=2-4"), ("Cache-Control", "no-cache")]),
        PartRow(policy: .reloadRevalidatingCacheData),
        PartRow(policy: .reloadIgnoringLocalCacheData, because: .policy),
        // The resource may have more bytes by now.
        PartRow(request: [("Range", "bytes=10-")]),
        PartRow(request: [("Range", "bytes=10-")], policy: .returnCacheDataElseLoad),
        PartRow(request: [("Range", "bytes=0-1,4-5")]),
        PartRow(request: [("Range", "bytes=0-1"), ("Range", "bytes=4-5")]),
        PartRow(request: [("Range", "bytes=2-4"), ("If-Range", CacheFixtures.tag)]),
        PartRow(
            request: [("Range", "bytes=2-4"), ("If-Range", CacheFixtures.tag)], policy: .returnCacheDataElseLoad),
        // The range is that of the coded body.
        PartRow(stored: [("Cache-Control", "max-age=60"), ("Content-Encoding", "gzip")]),
        PartRow(status: 203),
        PartRow(
            request: [("Range", "bytes=2-4"), ("Accept", "a/b")],
            stored: [("Cache-Control", "max-age=60"), ("Vary", "Accept")]),
    ])
    func partOfAStoredBody(row: PartRow) throws {
        let stored = try CacheFixtures.response(row.stored, status: row.status)
        let decision = try decide([stored], row.request, policy: row.policy, bodyLengths: [10])
        if let part = row.part {
            #expect(decision == .servePart(0, part, age: 10, because: row.because))
        } else {
            #expect(outcome(decision) == .load)
            #expect(decision.reason == row.because)
        }
    }

    // CACHE-9, CACHE-20: RFC 9111 §5.2.1.7
    @Test func partThatIsNotStored() throws {
        let stored = try CacheFixtures.response(Self.fresh)
        let asked = [("Range", "bytes=10-")]
        #expect(
            try decide([stored], asked, policy: .returnCacheDataDontLoad, bodyLengths: [10])
                == .fail(.resourceUnavailable, because: .range))
        #expect(
            try decide([stored], asked + [("Cache-Control", "only-if-cached")], bodyLengths: [10])
                == .fail(.resourceUnavailable, because: .range))
    }

    // CACHE-20: RFC 9110 §15.3.7
    @Test func fieldsOfAPart() throws {
        let date = CacheFixtures.date(0)
        let stored = try CacheFixtures.response([
            ("Cache-Control", "max-age=60"), ("Content-Length", "10"), ("A", "1"), ("content-digest", "sha-256=:x:"),
            ("Content-MD5", "x"), ("Age", "1"), ("Date", date),
        ])
        #expect(
            stored.fields(ofPart: 2...4, of: 10, age: 11)
                == HTTPFields([
                    ("Cache-Control", "max-age=60"), ("A", "1"), ("Date", date), ("Age", "11"),
                    ("Content-Length", "3"), ("Content-Range", "bytes 2-4/10"),
                ]))
        #expect(
            stored.fields(ofPart: 2...4, of: 10, age: nil)
                == HTTPFields([
                    ("Cache-Control", "max-age=60"), ("A", "1"), ("Age", "1"), ("Date", date),
                    ("Content-Length", "3"), ("Content-Range", "bytes 2-4/10"),
                ]))
    }

    // CACHE-15
    @Test(arguments: ["If-None-Match", "if-modified-since", "If-Match", "If-Unmodified-Since", "If-Range"])
    func callersConditions(name: String) throws {
        let stored = try CacheFixtures.response(Self.fresh)
        let fields = [(name, CacheFixtures.tag)]
        #expect(try decide([stored], fields) == .load(adding: HTTPFields(), because: .conditionalRequest))
        // CACHE-8: the policy returns the stored response.
        #expect(
            try decide([stored], fields, policy: .returnCacheDataDontLoad) == .serve(0, age: 10, because: .policy))
        #expect(
            try decide([], fields, policy: .returnCacheDataDontLoad)
                == .fail(.resourceUnavailable, because: .conditionalRequest))
    }

    // CACHE-21: RFC 9111 §3.5 is for shared caches.
    @Test func authorization() throws {
        let fields = [("Authorization", "Basic x")]
        let stored = try CacheFixtures.response(Self.fresh, to: fields)
        #expect(outcome(try decide([stored], fields)) == .serve)
        #expect(outcome(try decide([stored], [("Authorization", "Basic y")])) == .serve)
    }

    // MARK: Variants

    private static func variant(
        _ language: String, tag: String? = nil, came: Int64 = 0, maxAge: Int = 60
    ) throws -> StoredResponse {
        try CacheFixtures.response(
            [("Vary", "Accept-Language"), ("Cache-Control", "max-age=\(maxAge)")] + (tag.map { [("ETag", $0)] } ?? []),
            came: came, to: [("Accept-Language", language)])
    }

    // CACHE-18: RFC 9111 §4.1
    @Test func matchingVariantIsServed() throws {
        let stored = try [Self.variant("de"), Self.variant("en"), Self.variant("fr")]
        #expect(try decide(stored, [("accept-language", "EN")]) == .serve(1, age: 10, because: .fresh))
    }

    // CACHE-18: RFC 9111 §4.3.1
    @Test func anotherVariantIsAskedAboutByItsStrongTag() throws {
        let stored = try [
            Self.variant("de", tag: #""d""#), Self.variant("fr"), Self.variant("en", tag: #"W/"e""#),
            Self.variant("it", tag: "broken"), Self.variant("es", tag: #""d""#),
        ]
        #expect(
            try decide(stored, [("Accept-Language", "nl")])
                == .revalidate(
                    [0, 4], adding: HTTPFields([("If-None-Match", #""d""#)]), because: .otherVariant))
        // RFC 9110 §8.8.1: several variants may have one weak tag, so it does not identify one of them.
        for unasked in try [Self.variant("de"), Self.variant("de", tag: #"W/"1""#)] {
            #expect(
                try decide([unasked], [("Accept-Language", "nl")])
                    == .load(adding: HTTPFields(), because: .otherVariant))
        }
        // CACHE-8: another variant is not served.
        #expect(
            try decide([Self.variant("de")], policy: .returnCacheDataDontLoad)
                == .fail(.resourceUnavailable, because: .otherVariant))
    }

    // CACHE-18: RFC 9111 §4.1
    @Test func latestMatchingVariantIsServed() throws {
        let stored = try [Self.variant("de"), Self.variant("de", came: 5), Self.variant("de", came: 3)]
        #expect(try decide(stored, [("Accept-Language", "de")]) == .serve(1, age: 5, because: .fresh))
        // A response without `Vary` does not replace one with it.
        let plain = try CacheFixtures.response(Self.fresh, came: 9)
        #expect(try decide(stored + [plain], [("Accept-Language", "de")]) == .serve(1, age: 5, because: .fresh))
        #expect(try decide(stored + [plain], [("Accept-Language", "en")]) == .serve(3, age: 1, because: .fresh))
    }

    // CACHE-18, CACHE-26: an application cache does not store the request fields that Vary names.
    @Test func responseWithVaryFromOtherCache() throws {
        let fields = [("Cache-Control", "max-age=60"), ("Date", CacheFixtures.date(0)), ("ETag", CacheFixtures.tag)]
        let plain = StoredResponse(status: 200, fields: HTTPFields(fields))
        let varying = StoredResponse(status: 200, fields: HTTPFields(fields + [("Vary", "Accept")]))
        #expect(try decide([plain]) == .serve(0, age: 10, because: .fresh))
        #expect(try decide([varying]).reason == .otherVariant)
        #expect(outcome(try decide([varying])) == .validate)
    }

    // CACHE-8, CACHE-26: RFC 9111 §4.1. The policies that return anything stored return a response of which it is not
    // known which requests it matches. One that matches comes first.
    @Test(arguments: [CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad])
    func responseForUnknownRequests(policy: CachePolicy) throws {
        let fields = [("Date", CacheFixtures.date(5)), ("Vary", "Accept")]
        let unknown = StoredResponse(status: 200, fields: HTTPFields(fields))
        let known = try CacheFixtures.response(fields, to: [("Accept", "a/b")])
        let asked = [("Accept", "a/b")]
        #expect(try decide([unknown], asked, policy: policy) == .serve(0, age: 5, because: .policy))
        #expect(try decide([unknown, known], asked, policy: policy) == .serve(1, age: 10, because: .policy))
        #expect(outcome(try decide([known], [("Accept", "c/d")], policy: policy)) != .serve)
    }

    // CACHE-18, CACHE-26: RFC 9111 §4.1. The request for which a program stores a response is known, except for what
    // loads add to it.
    @Test func responseStoredForARequest() throws {
        let fields = [("Cache-Control", "max-age=60"), ("Date", CacheFixtures.date(0))]
        func stored(_ vary: String, for request: [(String, String)]) throws -> StoredResponse {
            var response = StoredResponse(status: 200, fields: HTTPFields(fields + [("Vary", vary)]))
            response.note(try CacheFixtures.request(request))
            return response
        }
        let german = try stored("Accept-Language", for: [("Accept-Language", "de")])
        #expect(try decide([german], [("Accept-Language", "de")]).reason == .fresh)
        #expect(try decide([german], [("Accept-Language", "en")]).reason == .otherVariant)
        for (vary, name) in [("X, Cookie", "Cookie"), ("authorization", "Authorization")] {
            #expect(try stored(vary, for: []).variant == nil)
            #expect(try decide([stored(vary, for: [(name, "a=b")])], [(name, "a=b")]).reason == .fresh)
        }
        #expect(try stored("*", for: []).variant == nil)
    }

    // CACHE-5, CACHE-18: a program may store a response with another Vary in place of the loaded one.
    @Test func replacedVary() throws {
        let loaded = try CacheFixtures.response(
            [("Cache-Control", "max-age=60"), ("Vary", "X")], to: [("X", "1")])
        func outcome(_ vary: [(String, String)], _ request: String) throws -> CacheReason {
            var replaced = loaded
            replaced.replaceHead(status: 203, fields: HTTPFields([("Cache-Control", "max-age=60")] + vary))
            #expect(replaced.status == 203)
            return try decide([replaced], [("X", request)]).reason
        }
        #expect(try outcome([("Vary", "x")], "1") == .fresh)
        #expect(try outcome([("Vary", "x")], "2") == .otherVariant)
        #expect(try outcome([], "2") == .fresh)
        #expect(try outcome([("Vary", "X, Y")], "1") == .otherVariant)
    }
}
