import Foundation
import LoadingSemantics
import Testing

@testable import LoadingPipeline

/// What is gathered for the cache as it goes by.
@Suite struct CacheStageTests {
    /// A stage that has seen the head of a response that may be kept, up to a limit.
    private func stage(limit: Int64, expecting length: Int64 = -1) throws -> CacheStage {
        var stage = CacheStage()
        stage.begin()
        stage.contents = CacheContents(entry: nil, limit: limit)
        let request = CacheRequest(url: try HTTPURL("https://example.com/"))
        _ = stage.decide(request, now: 1_000)
        let effect = stage.read(
            status: 200, fields: HTTPFields([("Cache-Control", "max-age=60")]), expectedLength: length, partition: nil,
            now: 1_001)
        #expect(effect == .nothing)
        return stage
    }

    // CACHE-31
    @Test("what is within the limit is gathered whole") func within() throws {
        var stage = try stage(limit: 10)
        #expect(stage.isGathering)
        #expect(["hello", "world"].map { stage.gather(Data($0.utf8)) } == [true, true])
        let entry = stage.takeGathered(whole: nil)
        #expect(entry?.body == Data("helloworld".utf8))
    }

    // CACHE-31: the piece that is too much is not held, and nothing after it
    @Test("excess octets are released") func beyond() throws {
        var stage = try stage(limit: 10)
        #expect(["hello", "world!"].map { stage.gather(Data($0.utf8)) } == [true, false])
        let hadOlder = stage.stopGathering()
        #expect(!hadOlder && !stage.isGathering)
        _ = stage.gather(Data(count: 1_000))
        let entry = stage.takeGathered(whole: nil)
        #expect(entry == nil)
    }

    // CACHE-31: what says that it is too large is not begun to be gathered
    @Test("what is announced as too large", arguments: [(10, true), (11, false), (.max, false)] as [(Int64, Bool)])
    func announced(length: Int64, isGathered: Bool) throws {
        #expect(try stage(limit: 10, expecting: length).isGathering == isGathered)
        #expect(try stage(limit: 0, expecting: -1).isGathering == false)
    }

    // CACHE-31
    @Test("a body that came whole is kept if it is within the limit", arguments: [10, 11]) func whole(count: Int) throws
    {
        var stage = try stage(limit: 10)
        let entry = stage.takeGathered(whole: Data(count: count))
        #expect(entry?.body.count == (count == 10 ? 10 : nil))
        // A response that is too large is released by its holder.
        #expect(stage.isGathering == (count == 11))
    }

    @Test("another request has nothing of the one before") func begins() throws {
        var stage = try stage(limit: 10)
        stage.served = Data("x".utf8)
        stage.begin()
        #expect(stage.isAbsent && stage.entry == nil && stage.served == nil && !stage.isGathering)
        #expect(Self.read(&stage, Table(status: 200, fields: "max-age=60")) == "nothing")
    }

    // MARK: Decisions and effects

    /// One request, what is stored for it, and its response.
    struct Table: Sendable, CustomTestStringConvertible {
        var method = "GET"
        /// What the request says to caches.
        var says: String?
        var policy = CachePolicy.useProtocolCachePolicy
        /// Nil: there is no cache. Of what is stored: its `Cache-Control`, or an empty text for nothing.
        var stored: String? = ""
        var isLookedUp = true
        var limit: Int64 = 100
        var status = 200
        /// The `Cache-Control` of the response.
        var fields = ""
        var tag: String?
        var location: String?
        var length: Int64 = 10
        var decision = ""
        var effect = "nothing"
        var gathers = false

        var testDescription: String {
            "\(method) \(says ?? "") of \(stored ?? "no cache"): \(status) \(fields) \(tag ?? "")"
        }
    }

    private static func contents(_ table: Table) throws -> CacheContents? {
        guard let text = table.stored else { return nil }
        var contents = CacheContents(entry: nil, limit: table.limit, isLookedUp: table.isLookedUp)
        guard !text.isEmpty else { return contents }
        let url = try HTTPURL("https://example.com/")
        let fields = HTTPFields([("Cache-Control", text), ("ETag", #""a""#)])
        if case .store(let response) = CacheStorageRules.decide(
            CacheRequest(url: url), status: 200, fields: fields, requestTime: 1_000, responseTime: 1_000,
            isComplete: true)
        {
            contents.entry = CacheEntry(response: response, body: Data("stored".utf8))
        }
        return contents
    }

    private static func request(_ table: Table) throws -> CacheRequest {
        CacheRequest(
            method: table.method, url: try HTTPURL("https://example.com/"),
            fields: HTTPFields(table.says.map { [("Cache-Control", $0)] } ?? []), policy: table.policy)
    }

    private static func read(_ stage: inout CacheStage, _ table: Table) -> String {
        var fields = HTTPFields()
        if !table.fields.isEmpty { fields.append("Cache-Control", table.fields) }
        if let tag = table.tag { fields.append("ETag", tag) }
        if let location = table.location { fields.append("Location", location) }
        switch stage.read(
            status: table.status, fields: fields, expectedLength: table.length, partition: "jar", now: 1_031)
        {
        case .nothing: return "nothing"
        case .serve(let response, let fate):
            return "serve \(response.fields.combinedValue("Cache-Control") ?? ""), \(fate)"
        case .sendAgain: return "send again"
        case .outdated: return "outdated"
        case .remove(let keys): return "remove " + keys.map(\.text).joined(separator: ", ")
        case .refresh(let response): return "refresh \(response.fields.combinedValue("Cache-Control") ?? "")"
        }
    }

    @Test(
        "what is decided, and what the response does to what is stored",
        arguments: [
            // C-27
            Table(stored: nil, fields: "max-age=60", decision: "load noCache"),
            Table(policy: .returnCacheDataDontLoad, stored: nil, decision: "fail noCache"),
            // CACHE-3, CACHE-6
            Table(fields: "max-age=60", decision: "load nothingStored", gathers: true),
            Table(fields: "no-store", decision: "load nothingStored"),
            Table(status: 500, decision: "load nothingStored"),
            Table(says: "no-store", fields: "max-age=60", decision: "load nothingStored"),
            // CACHE-31: what is larger than what may be kept outdates what is stored
            Table(fields: "max-age=60", length: 100, decision: "load nothingStored", gathers: true),
            Table(fields: "max-age=60", length: 101, decision: "load nothingStored"),
            Table(limit: 0, fields: "max-age=60", length: 0, decision: "load nothingStored"),
            Table(
                stored: "max-age=1", fields: "max-age=60", length: 101, decision: "revalidate stale", effect: "outdated"
            ),
            // CACHE-10: there was no lookup, so something may be stored
            Table(
                policy: .reloadIgnoringLocalCacheData, isLookedUp: false, fields: "no-store", decision: "load policy",
                effect: "outdated"),
            Table(
                policy: .reloadIgnoringLocalCacheData, isLookedUp: false, fields: "max-age=60", length: 101,
                decision: "load policy", effect: "outdated"),
            Table(
                policy: .reloadIgnoringLocalCacheData, stored: "max-age=60", fields: "max-age=60",
                decision: "load policy", gathers: true),
            // CACHE-7, CACHE-8, CACHE-9
            Table(stored: "max-age=60", decision: "serve fresh"),
            Table(policy: .returnCacheDataElseLoad, stored: "max-age=1", decision: "serve policy"),
            Table(policy: .returnCacheDataDontLoad, decision: "fail nothingStored"),
            // CACHE-13, CACHE-14
            Table(
                stored: "max-age=1", status: 304, fields: "max-age=9", tag: #""a""#, decision: "revalidate stale",
                effect: "serve max-age=9, stored"),
            Table(
                stored: "max-age=1", status: 304, fields: "no-store", tag: #""a""#, decision: "revalidate stale",
                effect: "serve no-store, removed"),
            Table(
                says: "no-store", stored: "max-age=1", status: 304, tag: #""a""#, decision: "revalidate stale",
                effect: "serve max-age=1, untouched"),
            Table(stored: "max-age=1", status: 304, tag: #""b""#, decision: "revalidate stale", effect: "send again"),
            Table(stored: "max-age=1", fields: "max-age=9", decision: "revalidate stale", gathers: true),
            Table(stored: "max-age=1", fields: "no-store", decision: "revalidate stale", effect: "outdated"),
            // CACHE-32: a server in trouble says nothing of what is stored
            Table(stored: "max-age=1", status: 503, decision: "revalidate stale"),
            // CACHE-15: a 304 that was not asked for
            Table(policy: .reloadIgnoringLocalCacheData, stored: "max-age=1", status: 304, decision: "load policy"),
            // CACHE-20
            Table(
                method: "HEAD", stored: "max-age=60", fields: "max-age=9", tag: #""a""#, decision: "load notCacheable",
                effect: "refresh max-age=9"),
            Table(
                method: "HEAD", stored: "max-age=60", fields: "no-store", decision: "load notCacheable",
                effect: "outdated"),
            Table(method: "HEAD", stored: "max-age=60", status: 404, decision: "load notCacheable"),
            Table(method: "HEAD", fields: "max-age=9", decision: "load notCacheable"),
            // CACHE-19
            Table(
                method: "POST", fields: "max-age=9", location: "/y", decision: "load notCacheable",
                effect: "remove https://example.com/ jar, https://example.com/y jar"),
            Table(
                method: "PUT", status: 204, location: "https://other.example/", decision: "load notCacheable",
                effect: "remove https://example.com/ jar"),
            Table(method: "DELETE", status: 500, decision: "load notCacheable"),
            Table(method: "OPTIONS", decision: "load notCacheable"),
        ]) func table(_ table: Table) throws
    {
        var stage = CacheStage()
        stage.begin()
        stage.contents = try Self.contents(table)
        let decision = stage.decide(try Self.request(table), now: 1_030)
        #expect("\(decision.name) \(decision.reason)" == table.decision)
        switch decision {
        // There is no response.
        case .serve, .servePart, .fail: return
        case .load, .revalidate: break
        }
        #expect(Self.read(&stage, table) == table.effect)
        #expect(stage.isGathering == table.gathers)
        let hadOlder = stage.stopGathering()
        #expect(hadOlder == (table.gathers && stage.entry != nil) && !stage.isGathering)
    }

    // CACHE-20: the stored body has 6 bytes
    @Test(
        "a range of the stored body is served",
        arguments: [("bytes=4-", 4...5), ("bytes=6-", nil)] as [(String, ClosedRange<Int64>?)])
    func part(range: String, part: ClosedRange<Int64>?) throws {
        var stage = CacheStage()
        stage.contents = try Self.contents(Table(stored: "max-age=60"))
        let fields = HTTPFields([("Range", range)])
        let request = CacheRequest(url: try HTTPURL("https://example.com/"), fields: fields)
        let expected: CacheDecision =
            if let part {
                .servePart(0, part, age: 30, because: .fresh)
            } else {
                .load(adding: HTTPFields(), because: .range)
            }
        let decision = stage.decide(request, now: 1_030)
        #expect(decision == expected)
    }

    // CACHE-20: programs index `Data` from 0
    @Test("a part of an entry", arguments: [0, 2]) func partOfAnEntry(start: Int) throws {
        var entry = try #require(try Self.contents(Table(stored: "max-age=60"))?.entry)
        entry.body = entry.body.dropFirst(start)
        let part = entry.part(1...2)
        #expect(part.response.status == 206)
        #expect(part.body == Data((start == 0 ? "to" : "re").utf8))
        #expect(part.body.startIndex == 0)
    }

    // CACHE-13, RFC 9111 §4.3.3: the conditions were wrong, and go once
    @Test("after a 304 that makes no sense the request goes out without conditions, once") func unconditional() throws {
        let table = Table(stored: "max-age=1", status: 304, tag: #""b""#)
        var stage = CacheStage()
        var decisions: [String] = []
        for _ in 0..<3 {
            stage.begin()
            stage.contents = try Self.contents(table)
            decisions.append(stage.decide(try Self.request(table), now: 1_030).name)
            if decisions.count < 3 { _ = Self.read(&stage, table) }
        }
        #expect(decisions == ["revalidate", "load", "revalidate"])
    }

    @Test("the answer to a conditional request is read once") func readOnce() throws {
        var table = Table(stored: "max-age=1", status: 304, tag: #""a""#)
        var stage = CacheStage()
        stage.contents = try Self.contents(table)
        _ = stage.decide(try Self.request(table), now: 1_030)
        #expect(Self.read(&stage, table) == "serve max-age=1, stored")
        table.status = 200
        table.fields = "max-age=9"
        #expect(Self.read(&stage, table) == "nothing" && stage.isGathering)
    }
}
