import LoadingSemantics
import LoadingTransport
import Testing

@testable import LoadingPipeline

/// Which way leads to a server, where nobody has to be asked.
@Suite struct ProxyRoutesTests {
    // PROXY-8: a way is remembered for all that it depends on
    @Test("what the settings say is the same each time, and another for another place") func remembered() throws {
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
}
