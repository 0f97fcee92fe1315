import LoadingSemantics
import Testing

/// Failed proxies are tried last.
@Suite struct FailedProxiesTests {
    private let one = ProxyServer(kind: .http, host: "one.test", port: 1)
    private let two = ProxyServer(kind: .socks5, host: "two.test", port: 2)
    private let here = ProxyDestination(traffic: .https, host: "a.test", port: 443)
    private let there = ProxyDestination(traffic: .http, host: "b.test", port: 80)

    private func ways() throws -> (one: ProxyServer, two: ProxyServer, all: [ProxyRoute]) {
        let (one, two) = (try #require(one), try #require(two))
        return (one, two, [.through(one), .through(two), .direct])
    }

    // PROXY-7
    @Test("an unreachable proxy is last for all destinations, a silent one for that destination") func order()
        throws
    {
        let (one, two, all) = try ways()
        var failed = FailedProxies()
        #expect(failed.isEmpty && failed.inOrder(all, to: here, at: 0) == all)
        failed.failed(one, for: nil, at: 0)
        #expect(failed.inOrder(all, to: here, at: 1) == [.through(two), .direct, .through(one)])
        #expect(failed.inOrder(all, to: there, at: 1) == [.through(two), .direct, .through(one)])
        failed.failed(two, for: here, at: 0)
        #expect(failed.inOrder(all, to: here, at: 1) == [.direct, .through(one), .through(two)])
        #expect(failed.inOrder(all, to: there, at: 1) == [.through(two), .direct, .through(one)])
        // All have failed, so the order is unchanged.
        #expect(failed.inOrder([.through(two), .through(one)], to: here, at: 1) == [.through(two), .through(one)])
    }

    // PROXY-7
    @Test("a failure ends after its time, or with a success") func end() throws {
        let (one, _, all) = try ways()
        var failed = FailedProxies()
        failed.failed(one, for: nil, at: 0)
        // A repeated failure does not extend the time.
        failed.failed(one, for: nil, at: 7)
        #expect(failed.inOrder(all, to: here, at: TimeLimits.standard.failedProxy - 1) != all)
        #expect(failed.inOrder(all, to: here, at: TimeLimits.standard.failedProxy) == all)
        failed.failed(one, for: nil, at: TimeLimits.standard.failedProxy)
        failed.failed(one, for: here, at: TimeLimits.standard.failedProxy)
        failed.failed(one, for: there, at: TimeLimits.standard.failedProxy)
        failed.succeeded(one, for: here)
        #expect(failed.inOrder(all, to: here, at: TimeLimits.standard.failedProxy) == all)
        #expect(failed.inOrder(all, to: there, at: TimeLimits.standard.failedProxy) != all)
    }

    // PROXY-7
    @Test("the number of failures is bounded") func bounded() throws {
        let (one, _, all) = try ways()
        var failed = FailedProxies()
        failed.failed(one, for: here, at: 0)
        for port in 1...UInt16(FailedProxies.maximumCount) {
            failed.failed(one, for: ProxyDestination(traffic: .http, host: "b.test", port: port), at: Int64(port))
        }
        #expect(failed.count == FailedProxies.maximumCount)
        // The oldest entry was evicted.
        #expect(failed.inOrder(all, to: here, at: 300) == all)
        #expect(failed.inOrder(all, to: there, at: 300) != all)
        failed.failed(one, for: nil, at: 2 * TimeLimits.standard.failedProxy)
        #expect(failed.count == 1)
    }

    // PROXY-7: a short timeout applies only to loads with the same or a shorter one
    @Test("a silent proxy counts as failed for loads with a shorter timeout") func timeoutOfSilentProxy() throws {
        let (one, _, _) = try ways()
        var failed = FailedProxies()
        let ways = [ProxyRoute.through(one), .direct]
        let last = [ProxyRoute.direct, .through(one)]
        failed.failed(one, for: nil, after: 100, at: 0)
        #expect(failed.inOrder(ways, to: here, timeout: 100, at: 1) == last)
        #expect(failed.inOrder(ways, to: here, timeout: 101, at: 1) == ways)
        // A longer silence extends the entry, a shorter one changes nothing.
        failed.failed(one, for: nil, after: 200, at: 1)
        failed.failed(one, for: nil, after: 50, at: 2)
        #expect(failed.inOrder(ways, to: here, timeout: 200, at: 3) == last)
        failed.failed(one, for: nil, at: 3)
        #expect(failed.inOrder(ways, to: here, timeout: .max, at: 4) == last)
    }

    // PROXY-7: "SOCKS5 a:1; SOCKS4 a:1"
    @Test("two kinds of proxy at one host and port are distinct") func kinds() throws {
        let (one, _, _) = try ways()
        var failed = FailedProxies()
        let other = try #require(ProxyServer(kind: .socks4, host: "one.test", port: 1))
        failed.failed(one, for: nil, at: 0)
        #expect(failed.inOrder([.through(one), .through(other)], to: here, at: 1) == [.through(other), .through(one)])
    }
}
