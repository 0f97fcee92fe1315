import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import Testing

@testable import LoadingPipeline

/// Which route leads to a server, without a query.
@Suite struct ProxyRoutesTests {
    // PROXY-8: a way is remembered for all that it depends on
    @Test("the settings' result is the same each time, and differs for another destination") func remembered() throws {
        let system = ProxyEnvironment([
            "http_proxy": "http://one.example:1", "https_proxy": "http://two.example:2",
            "no_proxy": "excluded.example,a.example:81",
        ])
        let routes = ProxyRoutes(ProxyRules(system: system), on: EventLoops.assign()) { _, done in
            done(.failure(.scriptFailed))
        }
        for _ in 0..<2 {
            for (url, proxy) in [
                ("http://a.example/", "one.example"), ("https://a.example/", "two.example"),
                ("http://a.example:81/", nil), ("http://b.example/x", "one.example"), ("http://excluded.example/", nil),
            ] {
                // Twice, because the last route is kept beside the others.
                for _ in 0..<2 {
                    let route = try #require(routes.settledRoute(to: HTTPURL(url)))
                    let ways = route.routes.map { way in
                        if case .through(let proxy) = way { proxy.host } else { nil as String? }
                    }
                    #expect(ways == [proxy], "\(url)")
                }
            }
        }
    }

    // PROXY-6: on another network the script may be another one
    @Test("a script is fetched again after the session has forgotten the network") func scripts() async throws {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let texts = try await stepped.run {
            var fetchCount = 0
            let routes = ProxyRoutes(ProxyRules(system: ProxyEnvironment([:])), on: loop) { _, done in
                fetchCount += 1
                done(fetchCount == 3 ? .failure(.scriptFailed) : .success("script \(fetchCount)"))
            }
            var texts: [String?] = []
            for step in 0..<6 {
                if step.isMultiple(of: 2) { routes.forgetFailures() }
                routes.script(at: "http://a.example/") { texts.append(try? $0.get().content) }
            }
            return texts
        }
        // The text is better than none where the third fetch fails.
        #expect(texts == ["script 1", "script 1", "script 2", "script 2", "script 2", "script 2"])
    }
}
