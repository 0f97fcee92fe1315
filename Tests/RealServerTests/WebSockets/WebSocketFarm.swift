import Foundation
import TestSupport
import Testing
import URLLoading

/// The servers and proxies of `WebSocketPath`s, which start when they are first needed and serve all tests of a suite.
final class WebSocketFarm: Sendable {
    private struct Key: Hashable {
        let server: WebSocketPath.Server
        let isSecure: Bool
    }

    private struct Running {
        var packaged: [Key: WebSocketServer] = [:]
        var aioquic: AioquicServer?
        var squid: SquidProxy?
        var dante: DanteProxy?
    }

    private let running = Watched(Running())

    func stop() {
        let all = running.withValue { running in
            defer { running = Running() }
            return running
        }
        all.packaged.values.forEach { $0.stop() }
        all.aioquic?.stop()
        all.squid?.stop()
        all.dante?.stop()
    }

    /// The URL of a path of the server, and the subprotocols to offer.
    func address(of path: WebSocketPath, _ name: String = "/echo") throws -> (url: URL, subprotocols: [String]) {
        switch path.server {
        case .aioquic:
            let text = try aioquic().secureURL("/ws\(name)").absoluteString
            return (try #require(URL(string: text.replacingOccurrences(of: "https:", with: "wss:"))), [])
        case .packaged(let make):
            let server = try packaged(make, isSecure: path.isSecure)
            return (server.url(name), server.subprotocols)
        }
    }

    /// A request whose connection is one that WebSockets can use then; nil where they have connections of their own.
    func firstRequest(of path: WebSocketPath) throws -> URLRequest? {
        switch path.version {
        case .http1: return nil
        case .http2:
            let url = try packaged(.nodeHTTP2, isSecure: true).url()
            return URLRequest(
                url: try #require(URL(string: url.absoluteString.replacingOccurrences(of: "wss:", with: "https:"))))
        case .http3:
            var request = URLRequest(url: try aioquic().secureURL("/small"))
            request.assumesHTTP3Capable = true
            return request
        }
    }

    /// The proxy of a route.
    func proxy(of route: WebSocketPath.Route) throws -> ProxyConfiguration? {
        switch route {
        case .direct: return nil
        case .connect:
            let squid = try start(\.squid) { try SquidProxy() }
            return try local(ProxyConfiguration(httpCONNECTProxy: endpoint(squid.port)))
        case .socks:
            let dante = try start(\.dante) { try DanteProxy() }
            return try local(ProxyConfiguration(socksv5Proxy: endpoint(dante.port)))
        }
    }

    /// Proxies are used for this machine only if they say so.
    private func local(_ proxy: ProxyConfiguration) -> ProxyConfiguration {
        var proxy = proxy
        proxy.matchDomains = ["localhost"]
        return proxy
    }

    private func endpoint(_ port: Int) throws -> NWEndpoint {
        .hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(port)")))
    }

    private func packaged(_ make: WebSocketServer.Make, isSecure: Bool) throws -> WebSocketServer {
        try start(\.packaged[Key(server: .packaged(make), isSecure: isSecure)]) {
            try WebSocketServer(make, authority: isSecure ? try TrustedAuthority.authority : nil)
        }
    }

    private func aioquic() throws -> AioquicServer {
        try start(\.aioquic) {
            try AioquicServer(files: ["small": Array("small".utf8)], authority: try TrustedAuthority.authority)
        }
    }

    private func start<Server>(
        _ place: WritableKeyPath<Running, Server?>, _ make: () throws -> Server
    ) throws -> Server {
        if let known = running.current[keyPath: place] { return known }
        let server = try make()
        running.withValue { $0[keyPath: place] = server }
        return server
    }
}

/// One farm for all tests of a suite.
struct WebSocketFarmTrait: SuiteTrait, TestScoping {
    @TaskLocal static var farm: WebSocketFarm?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let farm = WebSocketFarm()
        defer { farm.stop() }
        try await Self.$farm.withValue(farm) { try await function() }
    }
}

extension Trait where Self == WebSocketFarmTrait {
    static var webSocketFarm: Self { Self() }
}
