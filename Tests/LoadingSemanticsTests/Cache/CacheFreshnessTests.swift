import LoadingSemantics
import Testing

@Suite struct CacheFreshnessTests {
    private func freshness(
        _ fields: [(String, String)], status: Int = 200, delay: Int64 = 0, after seconds: Int64 = 0
    ) throws -> CacheFreshness {
        let response = try CacheFixtures.response(fields, status: status, delay: delay)
        return CacheFreshness(response, now: CacheFixtures.start + seconds)
    }

    struct LifetimeRow: Sendable, CustomTestStringConvertible {
        let fields: [(String, String)]
        let basis: CacheFreshness.Basis
        let lifetime: Int64
        var status = 200
        var testDescription: String { "\(status) \(fields)" }
    }

    // CACHE-17: RFC 9111 §4.2.1, §4.2.2, §5.3
    @Test(arguments: [
        LifetimeRow(fields: [("Cache-Control", "max-age=60")], basis: .maxAge, lifetime: 60),
        LifetimeRow(
            fields: [("Cache-Control", "max-age=60"), ("Expires", CacheFixtures.date(9000))], basis: .maxAge,
            lifetime: 60),
        LifetimeRow(
            fields: [("Cache-Control", "max-age=x"), ("Expires", CacheFixtures.date(9000))], basis: .maxAge, lifetime: 0
        ),
        // For shared caches alone
        LifetimeRow(
            fields: [("Cache-Control", "s-maxage=9, max-age=60, proxy-revalidate")], basis: .maxAge, lifetime: 60),
        LifetimeRow(fields: [("Cache-Control", "s-maxage=60")], basis: .nothing, lifetime: 0),
        LifetimeRow(fields: [("Expires", CacheFixtures.date(60))], basis: .expires, lifetime: 60),
        LifetimeRow(
            fields: [("Expires", CacheFixtures.date(60)), ("Cache-Control", "public")], basis: .expires, lifetime: 60),
        // Relative to the server's own `Date`.
        LifetimeRow(
            fields: [("Expires", CacheFixtures.date(60)), ("Date", CacheFixtures.date(-40))], basis: .expires,
            lifetime: 100),
        LifetimeRow(
            fields: [("Expires", CacheFixtures.date(60)), ("Date", "yesterday")], basis: .expires, lifetime: 60),
        LifetimeRow(fields: [("Expires", CacheFixtures.date(-60))], basis: .expires, lifetime: 0),
        LifetimeRow(fields: [("Expires", "0")], basis: .expires, lifetime: 0),
        LifetimeRow(fields: [("Expires", "-1")], basis: .expires, lifetime: 0),
        LifetimeRow(fields: [("Expires", "")], basis: .expires, lifetime: 0),
        LifetimeRow(
            fields: [("Expires", "never"), ("Last-Modified", CacheFixtures.date(-6000))], basis: .expires, lifetime: 0),
        LifetimeRow(
            fields: [("Expires", "0"), ("Expires", CacheFixtures.date(60))], basis: .expires, lifetime: 0),
        LifetimeRow(fields: [("Last-Modified", CacheFixtures.date(-6000))], basis: .lastModified, lifetime: 600),
        LifetimeRow(
            fields: [("Last-Modified", CacheFixtures.date(-6000)), ("Date", CacheFixtures.date(-1000))],
            basis: .lastModified, lifetime: 500),
        LifetimeRow(fields: [("Last-Modified", CacheFixtures.date(-9))], basis: .lastModified, lifetime: 0),
        LifetimeRow(fields: [("Last-Modified", CacheFixtures.date(1))], basis: .nothing, lifetime: 0),
        LifetimeRow(fields: [("Last-Modified", "long ago")], basis: .nothing, lifetime: 0),
        LifetimeRow(
            fields: [("Last-Modified", CacheFixtures.date(-6000))], basis: .lastModified, lifetime: 600, status: 301),
        // No heuristic for this status, unless the response is `public`.
        LifetimeRow(
            fields: [("Last-Modified", CacheFixtures.date(-6000)), ("Cache-Control", "private")], basis: .nothing,
            lifetime: 0, status: 201),
        LifetimeRow(
            fields: [("Last-Modified", CacheFixtures.date(-6000)), ("Cache-Control", "public")], basis: .lastModified,
            lifetime: 600, status: 201),
        // CACHE-7
        LifetimeRow(fields: [("Cache-Control", "public")], basis: .nothing, lifetime: 0),
        LifetimeRow(fields: [("ETag", CacheFixtures.tag)], basis: .nothing, lifetime: 0),
        LifetimeRow(fields: [], basis: .nothing, lifetime: 0),
    ])
    func lifetimes(row: LifetimeRow) throws {
        let freshness = try freshness(row.fields, status: row.status)
        #expect(freshness.basis == row.basis)
        #expect(freshness.lifetime == row.lifetime)
    }

    struct AgeRow: Sendable, CustomTestStringConvertible {
        let fields: [(String, String)]
        var delay: Int64 = 0
        let after: Int64
        let age: Int64?
        var testDescription: String { "\(fields) \(delay) \(after)" }
    }

    // CACHE-17: RFC 9111 §4.2.3, §5.1
    @Test(arguments: [
        AgeRow(fields: [], after: 0, age: 0),
        AgeRow(fields: [], after: 30, age: 30),
        AgeRow(fields: [], delay: 4, after: 30, age: 34),
        AgeRow(fields: [("Age", "100")], after: 30, age: 130),
        AgeRow(fields: [("Age", "100")], delay: 4, after: 30, age: 134),
        AgeRow(fields: [("Date", CacheFixtures.date(-50))], after: 30, age: 80),
        AgeRow(fields: [("Date", CacheFixtures.date(-50)), ("Age", "20")], after: 30, age: 80),
        AgeRow(fields: [("Date", CacheFixtures.date(-50)), ("Age", "100")], after: 30, age: 130),
        // A server whose clock is ahead
        AgeRow(fields: [("Date", CacheFixtures.date(50))], after: 30, age: 30),
        AgeRow(fields: [("Age", " 7 ")], after: 0, age: 7),
        AgeRow(fields: [("Age", "7, 100")], after: 0, age: 7),
        AgeRow(fields: [("Age", "7"), ("Age", "100")], after: 0, age: 7),
        AgeRow(fields: [("Age", "-7")], after: 0, age: 0),
        AgeRow(fields: [("Age", "seven")], after: 0, age: 0),
        AgeRow(fields: [("Age", "7 7")], after: 0, age: 0),
        AgeRow(fields: [("Age", "")], after: 0, age: 0),
        AgeRow(fields: [("Age", "99999999999999999999")], after: 1, age: 2_147_483_649),
        // The clock was set back since, so the age is unknown.
        AgeRow(fields: [], after: -1, age: nil),
        // The clock was set back while the response was in transit.
        AgeRow(fields: [], delay: -500, after: 3, age: 3),
    ])
    func ages(row: AgeRow) throws {
        #expect(try freshness(row.fields, delay: row.delay, after: row.after).age == row.age)
    }

    // RFC 9111 §4.2
    @Test func remainingLifetime() throws {
        let fields = [("Cache-Control", "max-age=60")]
        #expect(try freshness(fields, after: 59).remaining == 1)
        #expect(try freshness(fields, after: 60).remaining == 0)
        #expect(try freshness(fields, after: 61).remaining == -1)
        #expect(try freshness(fields, after: -1).remaining == nil)
    }

    // CACHE-25: a damaged store may contain any value.
    @Test(arguments: [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max], [Int64.min, -1, 0, .max])
    func impossibleTimes(time: Int64, now: Int64) {
        let fields = HTTPFields([
            ("Age", "2147483648"), ("Date", "Sat, 01 Jan 0000 00:00:00 GMT"),
            ("Expires", "Fri, 31 Dec 9999 23:59:59 GMT"),
        ])
        for other in [Int64.min, 0, .max] {
            let response = StoredResponse(
                status: 200, fields: fields, requestTime: other, responseTime: time, variant: nil)
            let freshness = CacheFreshness(response, now: now)
            #expect(freshness.age.map { $0 >= 0 } ?? (now < time))
        }
    }

    // CACHE-26: an application's cache stores responses without their times.
    @Test func responsesStoredByOtherCaches() {
        let fields = [("Cache-Control", "max-age=60"), ("Age", "10")]
        let dated = StoredResponse(status: 200, fields: HTTPFields(fields + [("Date", CacheFixtures.date(0))]))
        #expect(CacheFreshness(dated, now: CacheFixtures.start + 20).remaining == 30)
        let undated = StoredResponse(status: 200, fields: HTTPFields(fields))
        #expect(CacheFreshness(undated, now: CacheFixtures.start).remaining.map { $0 < 0 } == true)
    }

    // CACHE-26: RFC 9110 §6.6.1. The time at which a program stores a response is that of its arrival.
    @Test func responsesStoredByPrograms() {
        func remaining(_ fields: [(String, String)]) -> Int64? {
            let stored = StoredResponse(status: 200, fields: HTTPFields(fields), storedAt: CacheFixtures.start)
            return CacheFreshness(stored, now: CacheFixtures.start + 20).remaining
        }
        let lifetime = ("Cache-Control", "max-age=60")
        #expect(remaining([lifetime]) == 40)
        #expect(remaining([lifetime, ("Age", "10")]) == 30)
        #expect(remaining([lifetime, ("Date", "yesterday")]) == 40)
        #expect(remaining([("Expires", CacheFixtures.date(60))]) == 40)
        // A date says more, unless it is to come.
        #expect(remaining([lifetime, ("Date", CacheFixtures.date(-30))]) == 10)
        #expect(remaining([lifetime, ("Date", CacheFixtures.date(100))]) == 40)
    }

    // CACHE-17: RFC 9110 §15.1. What a program has stored itself may have any status.
    @Test func statusesWhoseLifetimeIsGuessed() {
        let fields = HTTPFields([("Date", CacheFixtures.date(0)), ("Last-Modified", CacheFixtures.date(-6000))])
        let guessed = (100...599).filter {
            CacheFreshness(StoredResponse(status: $0, fields: fields), now: CacheFixtures.start).basis == .lastModified
        }
        #expect(guessed == [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501])
    }
}
