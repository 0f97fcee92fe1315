import LoadingSemantics
import Testing

@Suite struct CacheStorageRulesTests {
    private func decide(
        _ fields: [(String, String)], status: Int = 200, requestFields: [(String, String)] = [],
        method: String = "GET", url: String = "https://a.example/x",
        policy: CachePolicy = .useProtocolCachePolicy, isComplete: Bool = true, fits: Bool = true
    ) throws -> CacheStorageDecision {
        CacheStorageRules.decide(
            try CacheFixtures.request(requestFields, method: method, url: url, policy: policy), status: status,
            fields: HTTPFields(fields), requestTime: CacheFixtures.start, responseTime: CacheFixtures.start,
            isComplete: isComplete, fits: fits)
    }

    private func isStored(_ decision: CacheStorageDecision) -> Bool {
        if case .store = decision { true } else { false }
    }

    // CACHE-31: other obstacles come first, because they may leave the older response
    @Test func tooLarge() throws {
        #expect(try decide([], fits: false) == .discard(.tooLarge, removesOlder: true))
        #expect(
            try decide([], requestFields: [("Range", "bytes=0-1")], fits: false)
                == .discard(.range, removesOlder: false))
        #expect(try decide([], status: 500, fits: false) == decide([], status: 500))
    }

    struct DirectiveRow: Sendable, CustomTestStringConvertible {
        let control: String
        var status = 200
        /// Nil if it is stored.
        let obstacle: CacheStorageDecision.Reason?
        var testDescription: String { "\(status) \(control)" }
    }

    // CACHE-6, CACHE-16, CACHE-17, CACHE-32: RFC 9111 §3, §5.2.2
    @Test(arguments: [
        DirectiveRow(control: "public", obstacle: nil),
        DirectiveRow(control: "private", obstacle: nil),
        DirectiveRow(control: #"private="X""#, obstacle: nil),
        DirectiveRow(control: "max-age=3600", obstacle: nil),
        DirectiveRow(control: "max-age=0", obstacle: nil),
        DirectiveRow(control: "no-cache", obstacle: nil),
        DirectiveRow(control: "must-revalidate", obstacle: nil),
        DirectiveRow(control: "", obstacle: nil),
        DirectiveRow(control: "no-store", obstacle: .noStore),
        DirectiveRow(control: "No-Store=1", obstacle: .noStore),
        DirectiveRow(control: "public, max-age=3600, no-store", obstacle: .noStore),
        DirectiveRow(control: "no-store, must-understand", obstacle: nil),
        DirectiveRow(control: "must-understand", obstacle: nil),
        DirectiveRow(
            control: "no-store, must-understand, max-age=9", status: 299, obstacle: .notUnderstood),
        DirectiveRow(control: "must-understand, public", status: 201, obstacle: .notUnderstood),
        // Statuses that are stored only with explicit permission
        DirectiveRow(control: "", status: 201, obstacle: .notMarked),
        DirectiveRow(control: "no-cache", status: 202, obstacle: .notMarked),
        DirectiveRow(control: "s-maxage=60", status: 299, obstacle: .notMarked),
        DirectiveRow(control: "max-age=60", status: 201, obstacle: nil),
        DirectiveRow(control: "private", status: 202, obstacle: nil),
        DirectiveRow(control: "public", status: 299, obstacle: nil),
    ])
    func directives(row: DirectiveRow) throws {
        let decision = try decide([("Cache-Control", row.control)], status: row.status)
        switch decision {
        case .store: #expect(row.obstacle == nil)
        case .discard(let reason, _): #expect(reason == row.obstacle)
        }
    }

    // CACHE-17: RFC 9111 §3
    @Test func expiresAllowsStoring() throws {
        #expect(isStored(try decide([("Expires", "0")], status: 201)))
    }

    // CACHE-3, CACHE-20, R-26
    @Test func statuses() throws {
        let kept = try (100...599).filter { isStored(try decide([("Cache-Control", "max-age=60")], status: $0)) }
        #expect(kept == Array(200...205) + Array(207...299) + [301, 308])
        let unmarked = try (100...599).filter { isStored(try decide([], status: $0)) }
        #expect(unmarked == [200, 203, 204, 301, 308])
    }

    // CACHE-1, CACHE-19
    @Test(arguments: ["HEAD", "POST", "PUT", "OPTIONS", "get"])
    func otherMethods(method: String) throws {
        let decision = try decide([("Cache-Control", "max-age=60")], method: method)
        #expect(decision == .discard(.notCacheable, removesOlder: false))
    }

    // CACHE-1
    @Test func schemes() throws {
        #expect(isStored(try decide([], url: "http://a.example/")))
        #expect(try decide([], url: "ws://a.example/") == .discard(.notCacheable, removesOlder: false))
    }

    // CACHE-10, CACHE-21: RFC 9111 §3.5 is for shared caches.
    @Test(arguments: CachePolicy.allCases)
    func allPoliciesStore(policy: CachePolicy) throws {
        #expect(isStored(try decide([], requestFields: [("Authorization", "Basic x")], policy: policy)))
    }

    // CACHE-15, CACHE-17, CACHE-20
    @Test func requestsThatPreventStoring() throws {
        let answer = [("Cache-Control", "max-age=60")]
        #expect(
            try decide(answer, requestFields: [("Range", "bytes=0-1")]) == .discard(.range, removesOlder: false))
        #expect(
            try decide(answer, requestFields: [("If-None-Match", "x")])
                == .discard(.conditionalRequest, removesOlder: false))
        #expect(
            try decide(answer, requestFields: [("Cache-Control", "no-store")])
                == .discard(.requestNoStore, removesOlder: false))
    }

    // CACHE-18
    @Test(arguments: ["*", "Accept, *", " * "])
    func varyStar(vary: String) throws {
        #expect(try decide([("Vary", vary)]) == .discard(.variesOnEverything, removesOlder: true))
        #expect(isStored(try decide([("Vary", "Accept")])))
    }

    // CACHE-3: RFC 9111 §3.3. An incomplete response does not replace the stored one.
    @Test func incompleteBodies() throws {
        #expect(try decide([], isComplete: false) == .discard(.incomplete, removesOlder: false))
    }

    // CACHE-3: a complete response that is not stored removes the older one.
    @Test(arguments: [
        (200, true), (201, true), (206, false), (301, true), (302, false), (303, false), (304, false), (307, false),
        (308, true), (401, false), (403, false), (404, true),
        (410, true), (416, false), (500, false), (503, false),
    ])
    func olderResponsesGo(status: Int, removesOlder: Bool) throws {
        guard case .discard(_, let removes) = try decide([("Cache-Control", "no-store")], status: status) else {
            Issue.record("stored")
            return
        }
        #expect(removes == removesOlder)
    }

    // CACHE-17, CACHE-18: RFC 9111 §3.1, RFC 9110 §6.6.1, §7.6.1
    @Test func storedFields() throws {
        let fields = [
            ("Connection", "close, X-Hop ,x-other"), ("x-hop", "1"), ("X-OTHER", "2"), ("X-Own", "a"), ("x-own", "b"),
            ("Keep-Alive", "x"), ("Transfer-Encoding", "chunked"), ("Upgrade", "x"), ("Proxy-Authenticate", "x"),
            ("Proxy-Authentication-Info", "x"), ("Proxy-Connection", "x"), ("TE", "x"), ("Set-Cookie", "a=b"),
            ("Vary", "ACCEPT, accept,, X"),
        ]
        guard case .store(let stored) = try decide(fields, requestFields: [("Accept", "a/b")]) else {
            Issue.record("not stored")
            return
        }
        #expect(
            stored.fields
                == HTTPFields([
                    ("X-Own", "a"), ("x-own", "b"), ("Set-Cookie", "a=b"), ("Vary", "ACCEPT, accept,, X"),
                    ("Date", CacheFixtures.date(0)),
                ]))
        #expect(stored.variant?.names == ["accept", "x"])
        #expect(stored.status == 200)
        #expect(stored.responseTime == CacheFixtures.start)
        #expect(!stored.needsValidation)
    }

    // CACHE-17: octets that are not UTF-8 are unchanged.
    @Test func octetsStay() {
        let bytes = Array("X".utf8) + [0xE9] + Array("Connectionclose".utf8)
        let fields = HTTPFields(
            bytes: bytes,
            positions: [
                HTTPFields.Position(nameStart: 2, nameLength: 10, valueStart: 12, valueLength: 5),
                HTTPFields.Position(nameStart: 0, nameLength: 1, valueStart: 1, valueLength: 1),
            ])
        let kept = CachedFields.stored(fields, responseTime: 0)
        #expect(kept.count == 2)
        #expect(kept.bytes.starts(with: [0x58, 0xE9]))
        #expect(kept.value(at: 0) == "é")
    }
}
