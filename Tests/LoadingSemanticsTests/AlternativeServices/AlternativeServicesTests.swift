import LoadingSemantics
import Testing

// CONN-6, CONN-8
@Suite struct AlternativeServicesTests {
    private let start: Int64 = 1_000_000
    private let here = HostPort("a.example", 443)

    private func record(
        _ origin: HostPort, _ entries: (AlternativeService, Int64)...
    ) -> AlternativeServicesRecord {
        AlternativeServicesRecord(origin: origin, entries: entries.map { .init($0.0, expires: $0.1) })
    }

    private func note(
        _ services: inout AlternativeServices, _ value: String?, _ url: String = "https://a.example/",
        age: String? = nil,
        at now: Int64
    ) throws -> AlternativeServicesOutcome {
        var fields = HTTPFields()
        if let value { fields.append("Alt-Svc", value) }
        if let age { fields.append("Age", age) }
        return services.note(fields, from: try HTTPURL(url), at: now)
    }

    private let same = AlternativeService(port: 443)
    private let other = AlternativeService(host: "b.example", port: 8443)

    @Test("an alternative is valid for its lifetime") func lifetime() throws {
        var services = AlternativeServices()
        #expect(services.services(of: here, at: start) == [])
        let outcome = try note(&services, #"h3=":443"; ma=100, h3="b.example:8443"; ma=50"#, at: start)
        #expect(outcome == .stored(record(here, (same, start + 100), (other, start + 50)), evicted: []))
        #expect(services.services(of: here, at: start + 49) == [same, other])
        #expect(services.services(of: here, at: start + 50) == [same])
        #expect(services.services(of: here, at: start + 100) == [])
        #expect(services.services(of: HostPort("a.example", 8443), at: start) == [])
        #expect(same.hostPort(for: here) == here)
        #expect(other.hostPort(for: here) == HostPort("b.example", 8443))
    }

    @Test("the lifetime is a day by default, and thirty days at most") func limits() throws {
        var services = AlternativeServices()
        #expect(
            try note(&services, #"h3=":443""#, at: start) == .stored(record(here, (same, start + 86_400)), evicted: []))
        let month = record(here, (same, start + 2_592_000))
        #expect(try note(&services, #"h3=":443"; ma=2592001"#, at: start) == .stored(month, evicted: []))
        #expect(try note(&services, #"h3=":443"; ma=99999999999999"#, at: start) == .refreshed(month))
        #expect(try note(&services, #"h3=":443""#, at: .max) == .removed(here))
    }

    // The "bad ports" of the Fetch Standard
    @Test("a blocked port is not used for HTTP/3", arguments: [1, 22, 25, 53, 587, 5060, 6667, 10080])
    func blockedPorts(port: UInt16) throws {
        var services = AlternativeServices()
        let reported = try note(&services, #"h3=":\#(port)", h3="b.example:\#(port)", h3="b.example:8443""#, at: start)
        #expect(reported == .stored(record(here, (other, start + 86_400)), evicted: []))
        // The previous alternatives are replaced, as by any field without a usable one.
        #expect(try note(&services, #"h3=":\#(port)""#, at: start) == .removed(here))
        // A record on disk may be older than the list.
        let copy = record(here, (AlternativeService(port: port), start + 100), (same, start + 100))
        #expect(services.insert(copy, at: start) == .stored(record(here, (same, start + 100)), evicted: []))
        // The origin's own port is always allowed.
        let own = HostPort("a.example", port)
        #expect(
            try note(&services, #"h3=":\#(port)", h3="b.example:\#(port)""#, "https://a.example:\(port)/", at: start)
                == .stored(record(own, (AlternativeService(port: port), start + 86_400)), evicted: []))
    }

    // §3.1
    @Test("the age in an intermediate cache is subtracted") func age() throws {
        var services = AlternativeServices()
        let stored = record(here, (same, start + 40))
        #expect(try note(&services, #"h3=":443"; ma=100"#, age: "60", at: start) == .stored(stored, evicted: []))
        #expect(
            try note(&services, #"h3=":443"; ma=100"#, age: "soon", at: start)
                == .stored(record(here, (same, start + 100)), evicted: []))
        #expect(try note(&services, #"h3=":443"; ma=100"#, age: "100", at: start) == .removed(here))
    }

    @Test("each field replaces the previous ones, and a response without one changes nothing") func replacing()
        throws
    {
        var services = AlternativeServices()
        _ = try note(&services, #"h3=":443""#, at: start)
        for value in [nil, "", "h3=?"] { #expect(try note(&services, value, at: start) == .nothing) }
        #expect(services.services(of: here, at: start) == [same])
        _ = try note(&services, #"h3="b.example:8443""#, at: start)
        #expect(services.services(of: here, at: start) == [other])
        #expect(try note(&services, #"h2=":443""#, at: start) == .removed(here))
        #expect(try note(&services, #"h2=":443""#, at: start) == .nothing)
        #expect(services.count == 0)
    }

    @Test("a withdrawn alternative is removed", arguments: ["clear", #"h3=":443"; ma=0"#]) func clear(value: String)
        throws
    {
        var services = AlternativeServices()
        #expect(try note(&services, value, at: start) == .nothing)
        _ = try note(&services, #"h3=":443""#, at: start)
        #expect(try note(&services, value, at: start) == .removed(here))
        #expect(services.services(of: here, at: start) == [])
    }

    // §2.1
    @Test("only secure origins may advertise, each for itself") func origins() throws {
        var services = AlternativeServices()
        #expect(try note(&services, #"h3=":443""#, "http://a.example/", at: start) == .nothing)
        _ = try note(&services, #"h3=":1001""#, "https://a.example:8443/x", at: start)
        #expect(services.services(of: here, at: start) == [])
        #expect(services.services(of: HostPort("a.example", 8443), at: start) == [AlternativeService(port: 1001)])
        #expect(try note(&services, "clear", "http://a.example:8443/", at: start) == .nothing)
        #expect(services.count == 1)
    }

    @Test("a record is reported as stored when it has changed, not with every response") func refreshing() throws {
        var services = AlternativeServices()
        let field = #"h3=":443"; ma=1600"#
        #expect(try note(&services, field, at: start) == .stored(record(here, (same, start + 1600)), evicted: []))
        for second in [Int64(1), 50, 100] {
            let refreshed = record(here, (same, start + second + 1600))
            #expect(try note(&services, field, at: start + second) == .refreshed(refreshed))
        }
        let moved = record(here, (same, start + 1701))
        #expect(try note(&services, field, at: start + 101) == .stored(moved, evicted: []))
        let lasting = record(here, (AlternativeService(port: 443, persists: true), start + 1701))
        #expect(try note(&services, field + "; persist=1", at: start + 101) == .stored(lasting, evicted: []))
    }

    @Test("the number of origins is bounded: expired origins are evicted first, then the least recently updated one")
    func bounds() throws {
        var services = AlternativeServices(maximumOrigins: 3)
        func visit(_ name: String, _ age: Int = 100, at now: Int64) throws -> [HostPort]? {
            guard
                case .stored(_, let evicted) = try note(
                    &services, "h3=\":1001\"; ma=\(age)", "https://\(name)/", at: now)
            else { return nil }
            return evicted
        }
        #expect(try visit("a", at: start) == [])
        #expect(try visit("b", at: start) == [])
        #expect(try visit("c", 5, at: start) == [])
        #expect(try visit("a", at: start + 1) == nil)
        #expect(try visit("d", at: start + 1) == [HostPort("b", 443)])
        #expect(try visit("e", at: start + 5) == [HostPort("c", 443)])
        #expect(try visit("f", at: start + 5) == [HostPort("a", 443)])
        #expect(Set(services.all(at: start + 5).map(\.origin.host)) == ["d", "e", "f"])
        var many = AlternativeServices()
        for index in 0..<1_000 { _ = try note(&many, #"h3=":1001""#, "https://h\(index)/", at: start) }
        #expect(many.count == 256)
        #expect(many.services(of: HostPort("h744", 443), at: start) == [AlternativeService(port: 1001)])
        #expect(many.services(of: HostPort("h743", 443), at: start) == [])
    }

    // §2.2
    @Test("a change of network keeps persistent alternatives only") func network() throws {
        var services = AlternativeServices()
        let lasting = AlternativeService(port: 2, persists: true)
        _ = try note(&services, #"h3=":443", h3=":2"; persist=1; ma=9"#, at: start)
        _ = try note(&services, #"h3=":443""#, "https://b.example/", at: start)
        _ = try note(&services, #"h3=":2"; persist=1"#, "https://c.example/", at: start)
        let outcomes = services.networkChanged(at: start)
        #expect(outcomes.count == 2)
        #expect(outcomes.contains(.stored(record(here, (lasting, start + 9)), evicted: [])))
        #expect(outcomes.contains(.removed(HostPort("b.example", 443))))
        #expect(services.services(of: here, at: start) == [lasting])
        #expect(services.count == 2)
        #expect(services.networkChanged(at: start + 9) == [.removed(here)])
    }

    // §6
    @Test("a misdirected alternative is removed, others stay") func misdirected() throws {
        var services = AlternativeServices()
        _ = try note(&services, #"h3=":443"; ma=5, h3="b.example:8443"; ma=9"#, at: start)
        #expect(services.remove(AlternativeService(port: 8443), of: here) == .nothing)
        #expect(services.remove(same, of: here) == .stored(record(here, (other, start + 9)), evicted: []))
        #expect(services.remove(other, of: here) == .removed(here))
        #expect(services.remove(other, of: here) == .nothing)
    }

    @Test("expired records are reported once") func expired() throws {
        var services = AlternativeServices()
        _ = try note(&services, #"h3=":443"; ma=5"#, at: start)
        _ = try note(&services, #"h3=":443"; ma=6"#, "https://b.example/", at: start)
        #expect(services.removeExpired(at: start + 4) == [])
        #expect(services.removeExpired(at: start + 5) == [here])
        #expect(services.all(at: start + 5).map(\.origin.host) == ["b.example"])
        services.removeAll()
        #expect(services.count == 0)
    }

    @Test("records from disk are validated like fields") func records() {
        var services = AlternativeServices()
        let far = record(here, (same, .max), (AlternativeService(port: 2), start))
        #expect(services.insert(far, at: start) == .stored(record(here, (same, start + 2_592_000)), evicted: []))
        let hosts = ["", "A", "a b", "[::1]", "::g", "a:b", "a..b", "::1%lo"]
        let bad =
            hosts.map { (AlternativeService(host: $0, port: 1001), start + 9) } + [
                (AlternativeService(port: 0), start + 9)
            ]
        let entries = bad.map { AlternativeServicesRecord.Entry($0.0, expires: $0.1) }
        #expect(services.insert(AlternativeServicesRecord(origin: here, entries: entries), at: start) == .removed(here))
        let good = record(here, (AlternativeService(host: "::1", port: 1001), start + 9), (other, start + 9))
        #expect(services.insert(good, at: start) == .stored(good, evicted: []))
        #expect(services.insert(record(here, (same, .min)), at: start) == .removed(here))
    }
}
