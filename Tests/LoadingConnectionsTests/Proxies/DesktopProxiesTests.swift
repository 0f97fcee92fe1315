import Foundation
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

@Suite struct DesktopProxiesTests {
    private func query(_ url: String) throws -> ProxyQuery { ProxyQuery(try HTTPURL(url)) }

    // PROXY-8: its library reads the environment too, which is how a test can configure it
    @Test("the results of libproxy", .needs("libproxy", of: "libproxy1v5", ProxyResolver.knowsDesktop))
    func libproxy() throws {
        setenv("http_proxy", "http://a.test:3128", 1)
        setenv("no_proxy", ".b.test", 1)
        defer {
            unsetenv("http_proxy")
            unsetenv("no_proxy")
        }
        let server = try #require(ProxyServer("http://a.test:3128"))
        #expect(DesktopProxies.route(for: try query("http://c.test/")) == .route(.through(server)))
        #expect(DesktopProxies.route(for: try query("http://c.b.test/")) == .route(.direct))
    }

    // PROXY-8
    @Test("loads query the settings, and share the result") func asked() async throws {
        let asked = EventRecorder<String>()
        let resolver = ProxyResolver(
            askScript: { _, _ in .nothing },
            askDesktop: { query in
                asked.record(query.url)
                return .route(ProxyRouteList(desktop: "socks5://s:1\ndirect://\n"))
            })
        let loop = EventLoops.assign()
        let server = try #require(ProxyServer("socks5://s:1"))
        for _ in 0..<2 {
            let query = try query("http://c.test/x")
            let advice = await withCheckedContinuation { continuation in
                _ = resolver.ask(script: nil, query, on: loop) { continuation.resume(returning: $0) }
            }
            #expect(advice == .route(ProxyRouteList([.through(server), .direct])))
        }
        #expect(asked.events == ["http://c.test/x"])
    }
}
