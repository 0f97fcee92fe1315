import Foundation
import TestSupport
import Testing
import URLLoading

/// Which names are resolved with proxies. Each test has its own process and network.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .needsNameServer, .timeLimit(.minutes(1)))
struct ProxyNameResolutionTests {
    enum Kind: CaseIterable {
        case direct
        case forwarding
        case tunnel
        case socks
    }

    // PROXY-5, CONN-6: neither addresses nor services
    @Test("names of servers are the proxy's to resolve", arguments: Kind.allCases) func names(kind: Kind) async throws {
        try NetworkNamespace.raiseLoopback()
        let names = try NameServer { $0.type == .ipv4 ? .address([127, 0, 0, 1]) : .nothing }
        defer { names.stop() }
        // What was asked before, with another argument.
        await URLSession.shared.flush()
        let isSecure = kind != .forwarding
        let tls = isSecure ? try TrustedAuthority.server(.server("far.example")) : nil
        let server = try ScriptedServer.answering(tls: tls) { .text("in " + $0.target) }
        defer { server.stop() }
        let proxy =
            kind == .socks
            ? try ScriptedServer.socks5(to: server)
            : try ScriptedServer { connection in
                let request = try connection.readRequest()
                if request.method == "CONNECT" {
                    try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                    return try connection.relay(to: server.port)
                }
                try connection.send(.text("in " + request.target), to: request)
                try connection.waitForClose()
            }
        defer { proxy.stop() }
        var settings: [AnyHashable: Any] = [:]
        let name: String? =
            switch kind {
            case .direct: nil
            case .forwarding: "HTTP"
            case .tunnel: "HTTPS"
            case .socks: "SOCKS"
            }
        if let name { settings = ["\(name)Enable": 1, "\(name)Proxy": "127.0.0.1", "\(name)Port": proxy.port] }
        let session = URLSession {
            $0.urlCache = nil
            $0.connectionProxyDictionary = settings
        }
        defer { session.invalidateAndCancel() }
        let address = "\(isSecure ? "https" : "http")://far.example:\(server.port)/"
        let (data, _) = try await session.data(from: try #require(URL(string: address)))
        #expect(String(decoding: data, as: UTF8.self) == "in " + (kind == .forwarding ? address : "/"))
        if kind == .direct {
            #expect(Set(names.questions.map(\.type)).isSuperset(of: [.ipv4, .ipv6]))
        } else {
            #expect(names.questions == [])
        }
    }
}
