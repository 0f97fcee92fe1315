import LoadingSemantics
import Testing

// CONN-8
@Suite struct BrokenServicesTests {
    private let place = HostPort("a.example", 443)
    private let minute: Int64 = 60_000_000_000

    @Test("a server is left alone for five minutes, twice as long after each failure, and two days at most")
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

    @Test("attempts that fail together are one failure") func together() {
        var broken = BrokenServices<HostPort>()
        for second in 0..<60 { broken.failed(place, at: Int64(second) * 1_000_000_000) }
        #expect(!broken.contains(place, at: 5 * minute))
        broken.failed(place, at: 5 * minute)
        #expect(broken.contains(place, at: 15 * minute - 1))
        #expect(!broken.contains(place, at: 15 * minute))
    }

    @Test("success forgets a server, and a change of the network all") func forgetting() {
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

    @Test("the memory is bounded, and whose time is over first goes first") func bounds() {
        var broken = BrokenServices<HostPort>()
        for index in 0..<1_000 { broken.failed(HostPort("h\(index)", 1), at: Int64(index)) }
        #expect(broken.count == 256)
        #expect(!broken.contains(HostPort("h743", 1), at: 1_000))
        #expect(broken.contains(HostPort("h744", 1), at: 1_000))
        broken.failed(place, at: .max)
        #expect(broken.count == 256)
    }
}
