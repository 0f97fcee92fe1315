import LoadingSemantics
import Testing

// TLS-7: capacity and eviction.
@Suite struct HSTSLimitsTests {
    private func evicted(_ outcome: HSTSOutcome) -> [String]? {
        if case .stored(_, let evicted) = outcome { evicted.sorted() } else { nil }
    }

    @Test("A server with a million names evicts only its own")
    func siteLimit() throws {
        let hosts = HSTSFixture()
        _ = try hosts.note("max-age=1000000", "https://good.example/")
        _ = try hosts.note("max-age=1000000; includeSubDomains", "https://good.co.uk/")
        for number in 0..<4_000 {
            _ = try hosts.note("max-age=1000000", "https://h\(number).x\(number % 97).evil.co.uk/")
            #expect(hosts.count <= 122)
        }
        #expect(hosts.covers("good.example"))
        #expect(hosts.covers("www.good.co.uk"))
        #expect(hosts.count > 100)
    }

    @Test("The total is limited too, and used hosts stay")
    func totalLimit() throws {
        let hosts = HSTSFixture(limits: HSTSLimits(site: 20, total: 200))
        _ = try hosts.note("max-age=1000000; includeSubDomains", "https://used.example/")
        _ = try hosts.note("max-age=1000000", "https://unused.example/")
        for number in 0..<3_000 {
            _ = try hosts.note("max-age=1000000", "https://evil\(number).example/")
            if number % 50 == 0 { #expect(hosts.covers("sub.used.example")) }
            #expect(hosts.count <= 200)
        }
        #expect(hosts.covers("used.example"))
        #expect(!hosts.covers("unused.example"))
    }

    @Test("Expired hosts are evicted first, then the least recently used")
    func order() throws {
        let hosts = HSTSFixture(limits: HSTSLimits(site: 6, total: 100))
        for name in ["a", "b", "c", "d", "e"] {
            #expect(evicted(try hosts.note("max-age=1000", "https://\(name).x.example/")) == [])
        }
        #expect(evicted(try hosts.note("max-age=1", "https://f.x.example/")) == [])
        // An update needs no eviction.
        #expect(evicted(try hosts.note("max-age=2", "https://f.x.example/")) == [])
        hosts.now += 2
        #expect(evicted(try hosts.note("max-age=1000", "https://g.x.example/")) == ["f.x.example"])
        #expect(hosts.covers("a.x.example"))
        // Covered by another record, so this is not a use of b.
        #expect(!hosts.covers("sub.b.x.example"))
        #expect(evicted(try hosts.note("max-age=1000", "https://h.x.example/")) == ["b.x.example"])
        _ = try hosts.note("max-age=1000", "https://c.x.example/")
        #expect(evicted(try hosts.note("max-age=1000", "https://i.x.example/")) == ["d.x.example"])
        #expect(hosts.known == ["a", "c", "e", "g", "h", "i"].map { $0 + ".x.example" })
    }

    @Test("The smallest limits hold too", arguments: [(0, 0), (1, 1), (2, 1), (1, 2), (-5, .max)])
    func smallest(site: Int, total: Int) throws {
        let limits = HSTSLimits(site: site, total: total)
        let hosts = HSTSFixture(limits: limits)
        for number in 0..<100 {
            let outcome = try hosts.note("max-age=100", "https://n\(number).s\(number % 5).example/")
            #expect(evicted(outcome) != nil)
            #expect(hosts.count <= limits.total)
            #expect(hosts.count <= 5 * limits.site)
        }
    }

    // §8.2, §6.1: compared with a simple model.
    @Test("The reported changes and the lookups match the model", arguments: 0..<20 as Range<UInt64>)
    func agreesWithModel(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let hosts = HSTSFixture(limits: HSTSLimits(site: 5, total: 12))
        var copy: [String: HSTSRecord] = [:]
        let forget = { (host: String) in copy.removeValue(forKey: host) != nil }
        let name = { (random: inout SeededNumbers) in
            let labels = ["a", "b", "c", "co", "uk", "example", "github", "io"]
            return (0...random.below(4)).map { _ in random.pick(labels) }.joined(separator: ".")
        }
        for _ in 0..<500 {
            hosts.now += Int64(random.below(3))
            let host = name(&random)
            if random.below(2) == 0 {
                let isKnown = copy.values.contains { record in
                    !record.isExpired(at: hosts.now)
                        && (host == record.host || record.includesSubdomains && host.hasSuffix("." + record.host))
                }
                #expect(hosts.covers(host) == isKnown)
                continue
            }
            let reach = random.below(2) == 0 ? "; includeSubDomains" : ""
            switch try hosts.note("max-age=\(random.below(40))\(reach)", "https://\(host)/") {
            case .stored(let record, let evicted):
                for host in evicted { #expect(forget(host)) }
                copy[record.host] = record
            case .refreshed(let record):
                #expect(copy[record.host] != nil)
                copy[record.host] = record
            case .removed(let host): #expect(forget(host))
            case .nothing, .refused: break
            }
            #expect(copy.count == hosts.count)
        }
        let open = copy.values.filter { !$0.isExpired(at: hosts.now) }.map(\.host).sorted()
        #expect(hosts.known == open)
    }
}
