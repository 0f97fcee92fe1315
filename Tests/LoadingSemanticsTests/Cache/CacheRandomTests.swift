import LoadingSemantics
import Testing

/// Random responses, requests and times, compared with a numeric model without fields.
@Suite struct CacheRandomTests {
    private static let seeds = (1...8).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 }

    // MARK: One response, one request

    /// A response and a request as the model sees them. Times are seconds after `CacheFixtures.start`.
    private struct Exchange {
        var maxAge: Int64?
        var expires: Int64?
        var isExpiresBroken = false
        var lastModified: Int64?
        var date: Int64?
        var age: Int64?
        var delay: Int64
        var now: Int64
        var noCache: Bool
        var mustRevalidate: Bool
        var isImmutable: Bool
        var hasTag: Bool
        var wantsNoCache: Bool
        var wantsMaxAge: Int64?
        var wantsMinFresh: Int64?
        var wantsMaxStale: Int64?
        var wantsOnlyCached: Bool

        init(_ random: inout CacheRandom) {
            maxAge = random.maybe(0...100)
            expires = random.maybe(-50...100)
            isExpiresBroken = random.chance(4)
            lastModified = random.maybe(-2000...20)
            date = random.maybe(-60...20)
            age = random.maybe(0...60)
            delay = random.number(0...5)
            now = random.number(-3...120)
            noCache = random.chance(6)
            mustRevalidate = random.chance(4)
            isImmutable = random.chance(4)
            hasTag = random.chance(2)
            wantsNoCache = random.chance(8)
            wantsMaxAge = random.chance(2) ? nil : random.maybe(0...100)
            wantsMinFresh = random.chance(2) ? nil : random.maybe(0...60)
            wantsMaxStale = random.chance(2) ? nil : random.maybe(0...60)
            wantsOnlyCached = random.chance(6)
        }

        var responseFields: [(String, String)] {
            var directives: [String] = []
            if let maxAge { directives.append("max-age=\(maxAge)") }
            if noCache { directives.append("no-cache") }
            if mustRevalidate { directives.append("must-revalidate") }
            if isImmutable { directives.append("immutable") }
            var fields: [(String, String)] = []
            if !directives.isEmpty { fields.append(("Cache-Control", directives.joined(separator: ", "))) }
            if let expires { fields.append(("Expires", isExpiresBroken ? "soon" : CacheFixtures.date(expires))) }
            if let lastModified { fields.append(("Last-Modified", CacheFixtures.date(lastModified))) }
            if let date { fields.append(("Date", CacheFixtures.date(date))) }
            if let age { fields.append(("Age", String(age))) }
            if hasTag { fields.append(("ETag", CacheFixtures.tag)) }
            return fields
        }

        var requestFields: [(String, String)] {
            var directives: [String] = []
            if wantsNoCache { directives.append("no-cache") }
            if let wantsMaxAge { directives.append("max-age=\(wantsMaxAge)") }
            if let wantsMinFresh { directives.append("min-fresh=\(wantsMinFresh)") }
            if let wantsMaxStale { directives.append("max-stale=\(wantsMaxStale)") }
            if wantsOnlyCached { directives.append("only-if-cached") }
            return directives.isEmpty ? [] : [("Cache-Control", directives.joined(separator: ", "))]
        }

        private var made: Int64 { date ?? 0 }

        private var lifetime: Int64? {
            if let maxAge { return maxAge }
            if let expires { return isExpiresBroken ? 0 : max(0, expires - made) }
            if let lastModified, lastModified <= made { return (made - lastModified) / 10 }
            return nil
        }

        var currentAge: Int64 { max(max(0, -made), (age ?? 0) + delay) + now }

        var isServed: Bool {
            if noCache || wantsNoCache || now < 0 { return false }
            let left = (lifetime ?? 0) - currentAge
            if let wantsMaxAge, currentAge >= wantsMaxAge, !(isImmutable && left > 0) { return false }
            if let wantsMinFresh, left < wantsMinFresh { return false }
            if left > 0 { return true }
            guard let wantsMaxStale, lifetime != nil, !mustRevalidate else { return false }
            return left >= -wantsMaxStale
        }

        var hasValidator: Bool { hasTag || lastModified != nil }
    }

    // CACHE-8, CACHE-9, CACHE-12, CACHE-17
    @Test(arguments: seeds)
    func decisionsMatchModel(seed: UInt64) throws {
        var random = CacheRandom(state: seed)
        for _ in 0..<1000 {
            let exchange = Exchange(&random)
            let stored: StoredResponse = try {
                let decision = CacheStorageRules.decide(
                    try CacheFixtures.request(), status: 200, fields: HTTPFields(exchange.responseFields),
                    requestTime: CacheFixtures.start - exchange.delay, responseTime: CacheFixtures.start,
                    isComplete: true)
                guard case .store(let response) = decision else { throw CacheFixtures.NotStored(decision: decision) }
                return response
            }()
            for policy in CachePolicy.allCases {
                let request = try CacheFixtures.request(exchange.requestFields, policy: policy)
                let decision = CacheRules.decide(
                    request, stored: [stored], now: CacheFixtures.start + exchange.now)
                // The text of each would take longer than the rules.
                if !isRight(decision, policy, exchange) { Issue.record("\(policy) \(exchange): \(decision)") }
            }
        }
    }

    private func isRight(_ decision: CacheDecision, _ policy: CachePolicy, _ exchange: Exchange) -> Bool {
        let isServed: Bool
        switch policy {
        case .useProtocolCachePolicy: isServed = exchange.isServed
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: isServed = true
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
            isServed = false
        }
        switch decision {
        case .serve(let index, let age, _):
            return isServed && index == 0 && age == (exchange.now < 0 ? nil : exchange.currentAge)
        case .revalidate(let indices, let fields, _):
            return !isServed && exchange.hasValidator && indices == [0] && !ignoresStored(policy)
                && !exchange.wantsOnlyCached && fields.contains("If-None-Match") == exchange.hasTag
                && fields.contains("If-Modified-Since") == (exchange.lastModified != nil)
        case .servePart:
            return false
        case .load:
            return !isServed && (ignoresStored(policy) || !exchange.hasValidator && !exchange.wantsOnlyCached)
        case .fail(let error, _):
            return !isServed && !ignoresStored(policy) && exchange.wantsOnlyCached && error == .resourceUnavailable
        }
    }

    private func ignoresStored(_ policy: CachePolicy) -> Bool {
        policy == .reloadIgnoringLocalCacheData || policy == .reloadIgnoringLocalAndRemoteCacheData
    }

    // MARK: A resource that changes

    /// One resource in two languages, with increasing versions. All clocks are correct.
    private struct Origin {
        var version = 1
        /// When each version was replaced; the current one is not in it.
        var replaced: [Int: Int64] = [:]

        mutating func change(at time: Int64) {
            replaced[version] = time
            version += 1
        }
    }

    // CACHE-14, CACHE-17, CACHE-18, CACHE-19: what is served without asking was true less than its lifetime ago, and
    // is in the language that was asked for; what was asked about is true now.
    @Test(arguments: seeds)
    func nothingStaleIsServed(seed: UInt64) throws {
        var random = CacheRandom(state: seed)
        var origin = Origin()
        var stored: [StoredResponse] = []
        var served = 0
        var confirmed = 0
        var now = CacheFixtures.start
        for _ in 0..<1500 {
            now += random.number(0...8)
            if random.chance(10) { origin.change(at: now) }
            if random.chance(40) {
                // An unsafe request: no earlier response may be served after it.
                origin.change(at: now)
                let request = try CacheFixtures.request(method: "POST")
                let keys = CacheInvalidation.keys(
                    method: "POST", url: request.url, status: 204, fields: HTTPFields())
                if try keys.contains(#require(CacheKey(url: request.url))) { stored = [] }
            }
            let language = random.chance(2) ? "de" : "en"
            let request = try CacheFixtures.request([("Accept-Language", language)])
            let sent = now
            var body: (version: Int, language: String)
            switch CacheRules.decide(request, stored: stored, now: now) {
            case .serve(let index, _, _):
                body = try #require(content(of: stored[index]))
                served += 1
                let lifetime = try #require(CacheControl(stored[index].fields).maxAge)
                if let end = origin.replaced[body.version] { #expect(now - end < lifetime) }
            case .revalidate(let indices, let adding, _):
                now += random.number(0...3)
                let current = fields(origin, language, &random)
                let asked = try #require(adding.firstValue("If-None-Match"))
                let tag = try #require(current.firstValue("ETag"))
                if asked.contains(tag) {
                    let answer = CacheValidationRules.read(
                        status: 304, fields: current, requestTime: sent, responseTime: now, to: request,
                        stored: stored, validated: indices)
                    guard case .confirmed(let first, let others) = answer else {
                        Issue.record("\(answer)")
                        return
                    }
                    for each in [first] + others { stored[each.index] = each.response }
                    body = try #require(content(of: first.response))
                    confirmed += 1
                } else {
                    body = try keep(current, request, sent, now, &stored)
                }
                #expect(body.version == origin.version)
            case .load:
                now += random.number(0...3)
                body = try keep(fields(origin, language, &random), request, sent, now, &stored)
                #expect(body.version == origin.version)
            case .servePart(_, let bytes, _, _):
                Issue.record("\(bytes)")
                return
            case .fail(let error, _):
                Issue.record(error)
                return
            }
            #expect(body.language == language)
        }
        // All outcomes have occurred.
        #expect(served > 200)
        #expect(confirmed > 50)
    }

    private func fields(_ origin: Origin, _ language: String, _ random: inout CacheRandom) -> HTTPFields {
        HTTPFields([
            ("ETag", "\"\(origin.version)-\(language)\""), ("Vary", "Accept-Language"),
            ("Cache-Control", "max-age=\(random.number(0...30))"),
        ])
    }

    /// Stores a response like a cache: one for each variant.
    private func keep(
        _ fields: HTTPFields, _ request: CacheRequest, _ sent: Int64, _ came: Int64, _ stored: inout [StoredResponse]
    ) throws -> (Int, String) {
        let decision = CacheStorageRules.decide(
            request, status: 200, fields: fields, requestTime: sent, responseTime: came, isComplete: true)
        guard case .store(let response) = decision else { throw CacheFixtures.NotStored(decision: decision) }
        stored.removeAll { $0.variant == response.variant }
        stored.append(response)
        return try #require(content(of: response))
    }

    /// The entity tag identifies the content.
    private func content(of response: StoredResponse) -> (Int, String)? {
        guard let parts = response.fields.firstValue("ETag")?.dropFirst().dropLast().split(separator: "-"),
            parts.count == 2, let version = Int(parts[0])
        else { return nil }
        return (version, String(parts[1]))
    }

    // MARK: Anything

    private static let names = [
        "Cache-Control", "Expires", "Age", "Date", "Last-Modified", "ETag", "Vary", "Pragma", "Connection", "Range",
        "If-None-Match", "Accept", "Content-Length", "Content-Location", "Location",
    ]
    private static let pieces = [
        "max-age=", "max-stale", "min-fresh=", "no-cache", "no-store", "only-if-cached", "must-revalidate", "immutable",
        "must-understand", "public", ",", ", ", "=", "\"", "\\", ";", " ", "\t", "0", "60", "99999999999999999999",
        "-1",
        "*", "W/", "\"a\"", "Accept", "é", "\u{1}", "x", CacheFixtures.date(0), CacheFixtures.date(-900_000), "Mon, ",
        "http://a.example/", "/", "#", "bytes=0-", "bytes=-",
    ]

    private func anyFields(_ random: inout CacheRandom) -> HTTPFields {
        var fields = HTTPFields()
        for _ in 0..<random.number(0...6) {
            let value = (0..<random.number(0...8)).map { _ in random.element(Self.pieces) }.joined()
            fields.append(random.element(Self.names), value)
        }
        return fields
    }

    // CACHE-17, CACHE-25: nothing that a server sends, a caller asks or a disk holds ends the process; and what the
    // rules say fits together.
    @Test(arguments: seeds)
    func arbitraryInputIsAccepted(seed: UInt64) throws {
        var random = CacheRandom(state: seed)
        let times: [Int64] = [.min, -1, 0, CacheFixtures.start, .max]
        for _ in 0..<1000 {
            let url = try HTTPURL("https://a.example/x")
            let request = CacheRequest(
                method: random.element(["GET", "GET", "GET", "HEAD", "POST"]), url: url, fields: anyFields(&random),
                policy: random.element(CachePolicy.allCases))
            var stored: [StoredResponse] = []
            for _ in 0..<random.number(0...3) {
                let fields = anyFields(&random)
                let known = CacheStorageRules.decide(
                    request, status: Int(random.number(100...599)), fields: fields,
                    requestTime: random.element(times), responseTime: random.element(times), isComplete: true)
                if case .store(let response) = known { stored.append(response) }
                stored.append(StoredResponse(status: 200, fields: fields))
            }
            let now = random.element(times)
            let lengths: [Int64] = stored.map { _ in random.element([0, 1, 60, 61, 1000, .max]) }
            switch CacheRules.decide(request, stored: stored, bodyLengths: lengths, now: now) {
            case .serve(let index, let age, _):
                #expect(stored.indices.contains(index))
                #expect(age.map { $0 >= 0 } ?? true)
                _ = stored[index].fields(age: age ?? 0)
            case .servePart(let index, let bytes, let age, _):
                #expect(stored.indices.contains(index))
                #expect(bytes.lowerBound >= 0 && bytes.upperBound < lengths[index])
                #expect(age.map { $0 >= 0 } ?? true)
                _ = stored[index].fields(ofPart: bytes, of: lengths[index], age: age)
            case .revalidate(let indices, let adding, _):
                #expect(!indices.isEmpty)
                #expect(adding.contains("If-None-Match") || adding.contains("If-Modified-Since"))
                let answer = anyFields(&random)
                let outcome = CacheValidationRules.read(
                    status: 304, fields: answer, requestTime: random.element(times),
                    responseTime: random.element(times), to: request, stored: stored, validated: indices)
                if case .confirmed(let first, let others) = outcome {
                    #expect(([first] + others).allSatisfy { indices.contains($0.index) })
                }
            case .load, .fail:
                break
            }
            _ = CacheValidationRules.readHead(
                status: 200, fields: anyFields(&random), requestTime: now, responseTime: now, to: request,
                stored: stored)
            _ = CacheInvalidation.keys(method: "POST", url: url, status: 200, fields: anyFields(&random))
        }
    }
}

/// Marsaglia's xorshift: the same numbers for the same seed.
private struct CacheRandom {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state >> 11
    }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// True once in that many times.
    mutating func chance(_ count: UInt64) -> Bool { next() % count == 0 }

    mutating func maybe(_ range: ClosedRange<Int64>) -> Int64? { chance(2) ? nil : number(range) }

    mutating func element<Element>(_ elements: [Element]) -> Element { elements[Int(next() % UInt64(elements.count))] }
}
