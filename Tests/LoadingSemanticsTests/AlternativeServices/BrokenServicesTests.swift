import LoadingSemantics
import Testing

// CONN-8
@Suite struct BrokenServicesTests {
    private let place = HostPort("a.example", 443)
    private let minute: Int64 = 60_000_000_000

    @Test("a server is avoided for five minutes, doubled by each failure, up to two days")
    func doubling() {
        var broken = BrokenServices<HostPort>()
        #expect(!broken.contains(place, at: 0))
        var now: Int64 = 0
        for minutes in [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 2880, 2880] as [Int64] {
            broken.failed(place, at: now)
            #expect(broken.contains(place, at: now))
            now += minutes * minute
            #expect(broken.contains(place, at: now - 1))
            #expect(!broken.contains(place, at: now))
        }
        #expect(!broken.contains(HostPort("a.example", 444), at: 0))
    }

    @Test("those that are avoided now") func listed() {
        var broken = BrokenServices<HostPort>()
        let other = HostPort("b.example", 443)
        #expect(broken.listed(at: 0) == [])
        broken.failed(place, at: 0)
        broken.failed(other, at: minute)
        #expect(broken.listed(at: minute) == [place, other])
        #expect(broken.listed(at: 5 * minute) == [other])
    }

    @Test("concurrent failures count once") func together() {
        var broken = BrokenServices<HostPort>()
        for second in 0..<60 { broken.failed(place, at: Int64(second) * 1_000_000_000) }
        #expect(!broken.contains(place, at: 5 * minute))
        broken.failed(place, at: 5 * minute)
        #expect(broken.contains(place, at: 15 * minute - 1))
        #expect(!broken.contains(place, at: 15 * minute))
    }

    @Test("a success removes a server, a change of network removes all") func forgetting() {
        var broken = BrokenServices<HostPort>()
        let other = HostPort("b.example", 443)
        broken.succeeded(place)
        for now in [0, 5 * minute] {
            broken.failed(place, at: now)
            broken.failed(other, at: now)
        }
        broken.succeeded(place)
        #expect(!broken.contains(place, at: 6 * minute))
        #expect(broken.contains(other, at: 6 * minute))
        broken.failed(place, at: 6 * minute)
        #expect(!broken.contains(place, at: 11 * minute))
        broken.removeAll()
        #expect(!broken.contains(other, at: 6 * minute))
        #expect(broken.count == 0)
    }

    @Test("the list is bounded; the entry that expires first is evicted") func bounds() {
        var broken = BrokenServices<HostPort>()
        for index in 0..<1_000 { broken.failed(HostPort("h\(index)", 1), at: Int64(index)) }
        #expect(broken.count == 256)
        #expect(!broken.contains(HostPort("h743", 1), at: 1_000))
        #expect(broken.contains(HostPort("h744", 1), at: 1_000))
        broken.failed(place, at: .max)
        #expect(broken.count == 256)
    }
}
