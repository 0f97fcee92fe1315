import LoadingSemantics
import Testing

@Suite struct CacheValidationRulesTests {
    /// The response arrives 100 seconds after the stored one. Its request was sent 2 seconds before.
    private func read(
        _ fields: [(String, String)], status: Int = 304, requestFields: [(String, String)] = [],
        stored: [StoredResponse], validated: [Int]? = nil
    ) throws -> CacheValidation {
        CacheValidationRules.read(
            status: status, fields: HTTPFields(fields), requestTime: CacheFixtures.start + 98,
            responseTime: CacheFixtures.start + 100, to: try CacheFixtures.request(requestFields), stored: stored,
            validated: validated ?? Array(stored.indices))
    }

    private func confirmed(_ validation: CacheValidation) throws -> CacheValidation.Confirmed {
        guard case .confirmed(let first, _) = validation else { throw NotConfirmed(validation: validation) }
        return first
    }

    private struct NotConfirmed: Error {
        let validation: CacheValidation
    }

    // MARK: Which one is meant

    struct Row: Sendable, CustomTestStringConvertible {
        let stored: [(String, String)]
        let answer: [(String, String)]
        let isMeant: Bool
        var testDescription: String { "\(stored) \(answer)" }
    }

    // CACHE-13, CACHE-14: RFC 9111 §4.3.4
    @Test(arguments: [
        Row(stored: [("ETag", #""a""#)], answer: [("ETag", #""a""#)], isMeant: true),
        Row(stored: [("ETag", #""a""#)], answer: [("ETag", #""b""#)], isMeant: false),
        Row(stored: [("ETag", #"W/"a""#)], answer: [("ETag", #"W/"a""#)], isMeant: true),
        Row(stored: [("ETag", #"W/"a""#)], answer: [("ETag", #"W/"b""#)], isMeant: false),
        Row(stored: [("ETag", #""a""#)], answer: [("ETag", #"W/"a""#)], isMeant: true),
        // A server that compressed the response, and sends the original tag in the 304
        Row(stored: [("ETag", #"W/"a""#)], answer: [("ETag", #""a""#)], isMeant: true),
        Row(stored: [("ETag", "a")], answer: [("ETag", "a")], isMeant: true),
        Row(stored: [("ETag", "a")], answer: [("ETag", #""a""#)], isMeant: false),
        Row(stored: [("ETag", #""a""#)], answer: [("ETag", #""A""#)], isMeant: false),
        Row(
            stored: [("Last-Modified", CacheFixtures.date(-60))], answer: [("Last-Modified", CacheFixtures.date(-60))],
            isMeant: true),
        Row(
            stored: [("Last-Modified", CacheFixtures.date(-60))], answer: [("Last-Modified", CacheFixtures.date(-59))],
            isMeant: false),
        // The tag takes precedence over the date.
        Row(
            stored: [("ETag", #""a""#), ("Last-Modified", CacheFixtures.date(-60))],
            answer: [("ETag", #""a""#), ("Last-Modified", CacheFixtures.date(-50))], isMeant: true),
        // Servers that omit validators
        Row(stored: [("ETag", #""a""#)], answer: [], isMeant: true),
        Row(stored: [("Last-Modified", CacheFixtures.date(-60))], answer: [], isMeant: true),
        Row(stored: [("Last-Modified", CacheFixtures.date(-60))], answer: [("ETag", #""b""#)], isMeant: true),
        Row(stored: [("ETag", #""a""#)], answer: [("Last-Modified", CacheFixtures.date(-60))], isMeant: true),
    ])
    func selectionOfValidatedResponse(row: Row) throws {
        let validation = try read(row.answer, stored: [CacheFixtures.response(row.stored)])
        #expect((validation != .unusable) == row.isMeant)
    }

    // CACHE-14, CACHE-18: RFC 9111 §4.3.4
    @Test func oneOfSeveralVariants() throws {
        let stored = try [("d", "de"), ("e", "en")].map { tag, language in
            try CacheFixtures.response(
                [("ETag", "\"\(tag)\""), ("Vary", "Accept-Language")], to: [("Accept-Language", language)])
        }
        let requestFields = [("Accept-Language", "nl")]
        let validation = try read([("ETag", #""e""#)], requestFields: requestFields, stored: stored)
        let first = try confirmed(validation)
        #expect(first.index == 1)
        #expect(validation == .confirmed(first, others: []))
        // It becomes the variant of this request.
        let decision = CacheRules.decide(
            try CacheFixtures.request(requestFields + [("Cache-Control", "max-stale")]),
            stored: [first.response], now: CacheFixtures.start + 100)
        #expect(decision.reason == .stale)
        // Without a tag, the selection is ambiguous.
        #expect(try read([], requestFields: requestFields, stored: stored) == .unusable)
        #expect(
            try read([("Last-Modified", CacheFixtures.date(0))], requestFields: requestFields, stored: stored)
                == .unusable)
        #expect(try read([("ETag", #""e""#)], stored: stored, validated: [0]) == .unusable)
    }

    // CACHE-14: RFC 9111 §4.3.4. All with one strong tag are the same; the latest is served.
    @Test func allVariantsOfOneTag() throws {
        let stored = try [0, 20, 10].map { try CacheFixtures.response([("ETag", #""a""#)], came: $0) }
        guard case .confirmed(let first, let others) = try read([("ETag", #""a""#), ("X", "1")], stored: stored) else {
            Issue.record("not confirmed")
            return
        }
        #expect(first.index == 1)
        #expect(others.map(\.index) == [0, 2])
        #expect(([first] + others).allSatisfy { $0.response.fields.firstValue("X") == "1" && $0.fate == .stored })
    }

    // CACHE-25: invalid indices are ignored.
    @Test func outOfRangeIndices() throws {
        #expect(try read([], stored: [], validated: [0, -1, .max]) == .unusable)
        #expect(try read([], stored: [], validated: []) == .unusable)
    }

    // CACHE-32: a stale response does not replace an error.
    @Test(arguments: [200, 206, 301, 404, 412, 500, 502, 503, 504])
    func otherStatusesAreAnswers(status: Int) throws {
        let stored = try CacheFixtures.response([("ETag", #""a""#), ("Cache-Control", "stale-if-error=999")])
        #expect(try read([("ETag", #""a""#)], status: status, stored: [stored]) == .answered)
    }

    // MARK: The updated response

    // CACHE-14: RFC 9111 §3.2
    @Test func fieldsAreMerged() throws {
        let stored = try CacheFixtures.response(
            [
                ("ETag", #"W/"a""#), ("Content-Type", "a/b"), ("Content-Length", "5"), ("Content-Encoding", "gzip"),
                ("Cache-Control", "max-age=5"), ("X-Old", "1"), ("X-New", "1"), ("x-new", "2"), ("Age", "50"),
            ])
        let first = try confirmed(
            read(
                [
                    ("etag", #""a""#), ("content-type", "c/d"), ("Content-Length", "0"), ("Content-Range", "x"),
                    ("Content-Encoding", "br"), ("cache-control", "max-age=60"), ("X-NEW", "3"), ("x-new", "4"),
                    ("X-More", "5"), ("Connection", "close, X-Hop"), ("X-Hop", "6"), ("Date", CacheFixtures.date(99)),
                ], stored: [stored]))
        #expect(first.response.status == 200)
        #expect(
            first.response.fields
                == HTTPFields([
                    ("ETag", #"W/"a""#), ("Content-Type", "a/b"), ("Content-Length", "5"), ("Content-Encoding", "gzip"),
                    ("X-Old", "1"), ("cache-control", "max-age=60"), ("X-NEW", "3"), ("x-new", "4"), ("X-More", "5"),
                    ("Date", CacheFixtures.date(99)),
                ]))
        #expect(first.response.requestTime == CacheFixtures.start + 98)
        #expect(first.response.responseTime == CacheFixtures.start + 100)
    }

    // CACHE-14: the stored status is kept.
    @Test func statusStays() throws {
        let stored = try CacheFixtures.response([("ETag", #""a""#), ("Location", "/y")], status: 301)
        #expect(try confirmed(read([("ETag", #""a""#)], stored: [stored])).response.status == 301)
    }

    // CACHE-17: RFC 9111 §4.3.4, RFC 9110 §6.6.1. The age restarts with the 304, even without `Date`.
    @Test func freshnessRestartsAfterValidation() throws {
        var stored = try CacheFixtures.response(
            [("ETag", #""a""#), ("Cache-Control", "max-age=60"), ("Age", "50"), ("Date", CacheFixtures.date(0))])
        stored.needsValidation = true
        let response = try confirmed(read([], stored: [stored])).response
        #expect(response.fields.values("Date") == [CacheFixtures.date(100)])
        #expect(!response.needsValidation)
        #expect(CacheFreshness(response, now: CacheFixtures.start + 110).remaining == 48)
        let aged = try confirmed(read([("Age", "30")], stored: [stored])).response
        #expect(CacheFreshness(aged, now: CacheFixtures.start + 110).remaining == 18)
    }

    // CACHE-6, CACHE-18
    @Test(arguments: [
        ("Cache-Control", "no-store", CacheValidation.Confirmed.Fate.removed), ("Vary", "*", .removed),
        ("Cache-Control", "no-store, must-understand", .stored), ("Cache-Control", "no-cache", .stored),
    ])
    func fates(name: String, value: String, fate: CacheValidation.Confirmed.Fate) throws {
        let stored = try CacheFixtures.response([("ETag", #""a""#)])
        #expect(try confirmed(read([(name, value)], stored: [stored])).fate == fate)
    }

    // RFC 9111 §5.2.1.5
    @Test func requestWithNoStore() throws {
        let stored = try CacheFixtures.response([("ETag", #""a""#)])
        let noStore = [("Cache-Control", "no-store")]
        #expect(try confirmed(read([], requestFields: noStore, stored: [stored])).fate == .untouched)
        #expect(try confirmed(read(noStore, requestFields: noStore, stored: [stored])).fate == .removed)
    }

    // MARK: HEAD

    struct HeadRow: Sendable, CustomTestStringConvertible {
        enum Effect: Sendable {
            case updates, castsDoubt, removes, nothing
        }

        let head: [(String, String)]
        var status = 200
        var method = "HEAD"
        var request: [(String, String)] = [("Accept", "a/b")]
        let effect: Effect
        var testDescription: String { "\(method) \(request) \(status) \(head)" }
    }

    // CACHE-20: RFC 9111 §4.3.5
    @Test(arguments: [
        HeadRow(head: [("ETag", #""a""#), ("Content-Length", "5"), ("X", "2")], effect: .updates),
        HeadRow(head: [("ETag", #""a""#), ("X", "2")], effect: .updates),
        // RFC 9111 §5.2.2.5
        HeadRow(head: [("ETag", #""a""#), ("X", "2"), ("Cache-Control", "no-store")], effect: .removes),
        HeadRow(head: [("ETag", #""b""#), ("Cache-Control", "no-store")], effect: .removes),
        HeadRow(head: [("ETag", #""a""#), ("Vary", "*")], effect: .removes),
        HeadRow(head: [("X", "2")], effect: .updates),
        // CACHE-18: with another `Vary`, the original values of the new fields are unknown.
        HeadRow(head: [("Vary", "ACCEPT, accept"), ("X", "2")], effect: .updates),
        HeadRow(head: [("Vary", "Accept, Accept-Language"), ("X", "2")], effect: .castsDoubt),
        HeadRow(head: [("Vary", "Accept-Language"), ("ETag", #""a""#)], effect: .castsDoubt),
        HeadRow(head: [("Vary", ""), ("ETag", #""a""#)], effect: .castsDoubt),
        HeadRow(head: [("ETag", #""b""#), ("Content-Length", "5")], effect: .castsDoubt),
        HeadRow(head: [("ETag", #"W/"a""#)], effect: .castsDoubt),
        HeadRow(head: [("ETag", #""a""#), ("Content-Length", "6")], effect: .castsDoubt),
        HeadRow(head: [("Last-Modified", CacheFixtures.date(0))], effect: .castsDoubt),
        HeadRow(head: [("ETag", #""b""#)], status: 404, effect: .nothing),
        HeadRow(head: [("ETag", #""b""#)], status: 304, effect: .nothing),
        HeadRow(head: [("ETag", #""b""#)], method: "GET", effect: .nothing),
        HeadRow(head: [("ETag", #""b""#)], request: [("Accept", "c/d")], effect: .nothing),
        HeadRow(head: [("ETag", #""b""#)], request: [("Accept", "a/b"), ("Range", "bytes=0-")], effect: .nothing),
        HeadRow(
            head: [("ETag", #""b""#)], request: [("Accept", "a/b"), ("Cache-Control", "no-store")], effect: .nothing),
    ])
    func heads(row: HeadRow) throws {
        let stored = try CacheFixtures.response(
            [("ETag", #""a""#), ("Content-Length", "5"), ("Vary", "Accept"), ("X", "1")], to: [("Accept", "a/b")])
        let changed = CacheValidationRules.readHead(
            status: row.status, fields: HTTPFields(row.head), requestTime: CacheFixtures.start + 98,
            responseTime: CacheFixtures.start + 100, to: try CacheFixtures.request(row.request, method: row.method),
            stored: [stored])
        switch row.effect {
        case .updates:
            let response = try #require(changed[0]?.response)
            #expect(response.fields.values("X") == ["2"])
            #expect(response.needsValidation == false)
            #expect(response.variant == stored.variant)
            #expect(response.responseTime == CacheFixtures.start + 100)
        case .castsDoubt:
            var needsValidation = stored
            needsValidation.needsValidation = true
            #expect(changed == [0: .changed(needsValidation)])
        case .removes:
            #expect(changed == [0: .removed])
        case .nothing:
            #expect(changed == [:])
        }
    }

    // CACHE-20: a chunked response has no stored length to compare with.
    @Test func headWithLengthOfAChunkedBody() throws {
        let stored = try CacheFixtures.response([("ETag", #""a""#)])
        let changed = CacheValidationRules.readHead(
            status: 200, fields: HTTPFields([("Content-Length", "5")]), requestTime: CacheFixtures.start,
            responseTime: CacheFixtures.start, to: try CacheFixtures.request(method: "HEAD"), stored: [stored])
        #expect(changed[0]?.response?.needsValidation == false)
    }

    // CACHE-20, CACHE-26: RFC 9111 §4.3.5. It is not known whether the request selects the stored response.
    @Test(arguments: [[("ETag", #""b""#)], [("Cache-Control", "no-store")], [("X", "2")]])
    func headForUnknownRequests(head: [(String, String)]) throws {
        let stored = StoredResponse(status: 200, fields: HTTPFields([("ETag", #""a""#), ("Vary", "Accept")]))
        let changed = CacheValidationRules.readHead(
            status: 200, fields: HTTPFields(head), requestTime: CacheFixtures.start,
            responseTime: CacheFixtures.start, to: try CacheFixtures.request(method: "HEAD"), stored: [stored])
        #expect(changed == [:])
    }
}

extension CacheHeadUpdate {
    fileprivate var response: StoredResponse? { if case .changed(let response) = self { response } else { nil } }
}
