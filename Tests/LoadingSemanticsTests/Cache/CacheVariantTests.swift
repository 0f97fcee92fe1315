import LoadingSemantics
import Synchronization
import Testing

@Suite struct CacheVariantTests {
    /// Whether a response that varies on all these fields and answered one request is served for another.
    private func isServed(
        vary: String, _ first: [(String, String)], _ second: [(String, String)]
    ) throws -> Bool {
        let stored = try CacheFixtures.response([("Vary", vary), ("Cache-Control", "max-age=60")], to: first)
        let decision = CacheRules.decide(
            try CacheFixtures.request(second), stored: [stored], now: CacheFixtures.start)
        return decision == .serve(0, age: 0, because: .fresh)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let vary: String
        let first: [(String, String)]
        let second: [(String, String)]
        let isSame: Bool
        var testDescription: String { "\(vary): \(first) \(second)" }
    }

    // CACHE-18: RFC 9111 §4.1
    @Test(arguments: [
        Row(vary: "X", first: [], second: [], isSame: true),
        Row(vary: "X", first: [("X", "1")], second: [("x", "1")], isSame: true),
        Row(vary: "X", first: [("X", "1")], second: [("X", "2")], isSame: false),
        Row(vary: "X", first: [("X", "a")], second: [("X", "A")], isSame: false),
        Row(vary: "x", first: [("X", "1"), ("Y", "1")], second: [("X", "1"), ("Y", "2")], isSame: true),
        Row(vary: "X, Y", first: [("X", "1"), ("Y", "1")], second: [("X", "1"), ("Y", "2")], isSame: false),
        // Missing is not empty.
        Row(vary: "X", first: [], second: [("X", "")], isSame: false),
        Row(vary: "X", first: [("X", "1")], second: [], isSame: false),
        // White space around a value and the split into lines do not matter.
        Row(vary: "X", first: [("X", " 1\t")], second: [("X", "1")], isSame: true),
        Row(vary: "X", first: [("X", "1"), ("X", "2")], second: [("X", "1, 2")], isSame: true),
        Row(vary: "X", first: [("X", "1"), ("X", "2")], second: [("X", "2"), ("X", "1")], isSame: false),
        Row(vary: "X", first: [("X", "1,2")], second: [("X", "1, 2")], isSame: false),
        // A value cannot be confused with another field.
        Row(vary: "X, Y", first: [("X", "1 Y 2")], second: [("X", "1"), ("Y", "2")], isSame: false),
        Row(vary: "X, Y", first: [("X", "1")], second: [("Y", "1")], isSame: false),
        // Known fields are normalized.
        Row(
            vary: "Accept-Encoding", first: [("Accept-Encoding", "gzip, br;q=0.5")],
            second: [("Accept-Encoding", "GZIP,br; q=0.5")], isSame: true),
        Row(
            vary: "Accept-Encoding", first: [("Accept-Encoding", "gzip, br")],
            second: [("Accept-Encoding", "br, gzip")], isSame: false),
        Row(
            vary: "Accept-Language", first: [("Accept-Language", "de-DE"), ("Accept-Language", "en")],
            second: [("Accept-Language", "de-de,en")], isSame: true),
        Row(vary: "Accept", first: [("Accept", "a/b, c/d")], second: [("Accept", "a/b,c/d")], isSame: true),
        Row(
            vary: "Accept", first: [("Accept", #"a/b;c="d e""#)], second: [("Accept", #"a/b;c="de""#)], isSame: false),
        Row(vary: "Cookie", first: [("Cookie", "a=b")], second: [("Cookie", "a=B")], isSame: false),
        Row(
            vary: "Authorization", first: [("Authorization", "Basic x")], second: [("Authorization", "Basic y")],
            isSame: false),
        Row(vary: "", first: [("X", "1")], second: [("X", "2")], isSame: true),
        Row(vary: ", ,", first: [("X", "1")], second: [("X", "2")], isSame: true),
    ])
    func sameRequests(row: Row) throws {
        #expect(try isServed(vary: row.vary, row.first, row.second) == row.isSame)
        #expect(try isServed(vary: row.vary, row.second, row.first) == row.isSame)
    }

    // CACHE-18: RFC 9110 §5.3
    @Test func severalLinesOfVary() throws {
        let stored = try CacheFixtures.response([("Vary", "X"), ("Vary", "Y, x")])
        #expect(stored.variant?.names == ["x", "y"])
    }

    // CACHE-18: each costs time at a lookup, and bytes that are not ASCII name no field of a request
    @Test(
        "a Vary with too many members, or with one that is no name, counts as *",
        arguments: [
            (String(repeating: "x,", count: 1024), true), (String(repeating: "x,", count: 1025), false),
            ((1...64).map { "x\($0)" }.joined(separator: ","), true),
            ((1...65).map { "x\($0)" }.joined(separator: ","), false), ("x, \u{E9}", false),
        ])
    func members(vary: String, isStored: Bool) throws {
        let decision = CacheStorageRules.decide(
            try CacheFixtures.request([]), status: 200,
            fields: HTTPFields([("Vary", vary), ("Cache-Control", "max-age=60")]), requestTime: 0, responseTime: 0,
            isComplete: true)
        if case .store(let stored) = decision {
            #expect(isStored && stored.variant?.names.first?.hasPrefix("x") == true)
        } else {
            #expect(!isStored)
        }
    }

    // CACHE-18, CACHE-30: what goes to disk need not be what was sent.
    @Test func secretsCanBeHashed() throws {
        let seen = Mutex<[[UInt8]]>([])
        let request = CacheRequest(
            url: try HTTPURL("https://example.com/"), fields: HTTPFields([("Cookie", "secret")])
        ) { bytes in
            seen.withLock { $0.append(bytes) }
            return [UInt8(truncatingIfNeeded: bytes.count)]
        }
        #expect(try variant(request, varyingBy: "Cookie") == CacheVariant(names: ["cookie"], fingerprint: [14]))
        #expect(seen.withLock { $0 } == [Array("cookie\nsecret\n".utf8)])
    }

    // CACHE-18: only texts of 256 octets at most are kept as they are.
    @Test(arguments: [(248, false), (249, true)])
    func longValuesAreHashed(length: Int, isHashed: Bool) throws {
        let value = String(repeating: "o", count: length)
        let request = CacheRequest(
            url: try HTTPURL("https://example.com/"), fields: HTTPFields([("Origin", value)])
        ) { _ in [1] }
        let stored = try variant(request, varyingBy: "Origin")
        #expect(stored?.fingerprint == (isHashed ? [1] : Array("origin\n\(value)\n".utf8)))
    }

    /// That of a response which is stored.
    private func variant(_ request: CacheRequest, varyingBy name: String) throws -> CacheVariant? {
        let decision = CacheStorageRules.decide(
            request, status: 200, fields: HTTPFields([("Vary", name)]), requestTime: 0, responseTime: 0,
            isComplete: true)
        let stored: StoredResponse? = if case .store(let stored) = decision { stored } else { nil }
        return try #require(stored, "not stored").variant
    }
}
