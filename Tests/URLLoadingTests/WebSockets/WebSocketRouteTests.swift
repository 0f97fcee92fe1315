import Foundation
import TestSupport
import Testing
import URLLoading

/// WebSocket tasks over TLS and through proxies.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketRouteTests {
    private static let success: [Call] = [
        .created(1), .opened(1, nil), .closed(1, 1000, ""), .metrics(1), .completed(1, nil), .invalid,
    ]

    /// Proxies are used for this machine only if they say so.
    private static func local(_ proxy: ProxyConfiguration) -> ProxyConfiguration {
        var proxy = proxy
        proxy.matchDomains = ["localhost"]
        return proxy
    }

    private func echo(_ run: WebSocketRun, _ text: String = "hello") async throws {
        try await run.open()
        try await run.task.send(.string(text))
        #expect(try await run.task.receive().message == .text(text))
        run.task.cancel(with: .normalClosure, reason: nil)
    }

    // WS-2, TLS-4: an HTTP version that has upgrades
    @Test("a trusted server", arguments: [["http/1.1"], ["h2", "http/1.1"], []]) func secure(protocols: [String])
        async throws
    {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = protocols }
        let server = try ScriptedServer.webSocketEcho(tls: tls)
        defer { server.stop() }
        let run = WebSocketRun(server.webSocketURL(host: "localhost"))
        try await echo(run, String(repeating: "x", count: 200_000))
        #expect(try await run.end() == Self.success)
        #expect(server.connections.first?.clientHello?.applicationProtocols == ["http/1.1"])
        #expect(server.connections.first?.handshake?.applicationProtocol == (protocols.isEmpty ? nil : "http/1.1"))
        try await server.finish()
        #expect(try await server.connection(0).waitForEnd() == .closeNotify)
    }

    // WS-2, TLS-4, AUTH-1
    @Test("a server with an untrusted certificate", arguments: [true, false]) func untrusted(isTrusted: Bool)
        async throws
    {
        _ = try TrustedAuthority.authority
        let server = try ScriptedServer.webSocketEcho(tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { server.stop() }
        let delegate = RecordingWebSocketDelegate()
        delegate.challenge = { challenge, answer in
            guard isTrusted, let trust = challenge.protectionSpace.serverTrust else {
                return answer(.performDefaultHandling, nil)
            }
            answer(.useCredential, URLCredential(trust: trust))
        }
        let run = WebSocketRun(server.webSocketURL(host: "localhost"), delegate)
        if isTrusted {
            try await echo(run)
        } else {
            run.receive()
            run.task.resume()
        }
        let calls = try await run.end()
        let start: [Call] = [.created(1), .challenge(1, "ServerTrust", 0)]
        if isTrusted {
            #expect(calls == start + Self.success.dropFirst())
        } else {
            #expect(
                calls == start + [
                    .result("received: -1202"), .metrics(1), .completed(1, .serverCertificateUntrusted), .invalid,
                ])
        }
    }

    // TLS-7, WS-2: what HTTP has learnt of the host
    @Test("a host that asks for secure connections only") func strictTransportSecurity() async throws {
        let server = try ScriptedServer.webSocket(
            tls: TrustedAuthority.server(),
            refusing: {
                $0.path == "/learn"
                    ? CannedResponse.text("x").with(field: "Strict-Transport-Security", "max-age=1000") : nil
            }, script: { try $0.close() })
        defer { server.stop() }
        let run = WebSocketRun { session in
            session.webSocketTask(
                with: URL(string: "ws://localhost:\(server.port)/chat") ?? URL(fileURLWithPath: "/"))
        }
        let learnt = Signal("the field")
        run.session.dataTask(with: server.url("/learn", host: "localhost")) { _, _, _ in learnt.fire() }.resume()
        try await learnt.wait()
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.filter { $0.task == 1 } == Self.success.dropLast())
        #expect(server.requests.map(\.path) == ["/learn", "/chat"])
        #expect(run.task.currentRequest?.url?.scheme == "wss")
        #expect(run.task.originalRequest?.url?.scheme == "ws")
    }

    enum ProxyKind: CaseIterable {
        case connect
        case dictionary
        case socks
        case dictionaryOfSOCKS
    }

    // PROXY-5, PROXY-7, PROXY-10, RFC 6455 §4.1: a tunnel, also without TLS
    @Test("through proxies", arguments: ProxyKind.allCases, [true, false])
    func proxies(kind: ProxyKind, isSecure: Bool) async throws {
        let server = try ScriptedServer.webSocketEcho(tls: isSecure ? TrustedAuthority.server() : nil)
        defer { server.stop() }
        let isSOCKS = kind == .socks || kind == .dictionaryOfSOCKS
        let proxy = isSOCKS ? nil : try ScriptedProxy(to: server) { _ in .text("") }
        let socks = isSOCKS ? try ScriptedServer.socks5(to: server) : nil
        defer {
            proxy?.stop()
            socks?.stop()
        }
        let port = (proxy?.server ?? socks)?.port ?? 0
        let endpoint = NWEndpoint.hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(port)")))
        let run = WebSocketRun(
            try #require(URL(string: "\(isSecure ? "wss" : "ws")://localhost:\(server.port)/far")),
            RecordingWebSocketDelegate()
        ) {
            switch kind {
            case .connect: $0.proxyConfigurations = [Self.local(ProxyConfiguration(httpCONNECTProxy: endpoint))]
            case .socks: $0.proxyConfigurations = [Self.local(ProxyConfiguration(socksv5Proxy: endpoint))]
            case .dictionary: $0.connectionProxyDictionary = proxy?.settings()
            case .dictionaryOfSOCKS:
                $0.connectionProxyDictionary = [
                    "ExceptionsList": ["<-loopback>"], "SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": port,
                ]
            }
        }
        try await echo(run)
        #expect(try await run.end() == Self.success)
        #expect(server.requests.map(\.target) == ["/far"])
        if let proxy {
            #expect(proxy.server.requests.map { "\($0.method) \($0.target)" } == ["CONNECT localhost:\(server.port)"])
            #expect(proxy.server.requests.allSatisfy { $0["Upgrade"] == nil && $0["Sec-WebSocket-Key"] == nil })
        } else {
            #expect(socks?.connectionCount == 1)
        }
    }

    // PROXY-5, AUTH-28
    @Test("a proxy that asks for a password", arguments: [true, false]) func proxyPassword(isRight: Bool) async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let proxy = try ScriptedProxy.basic(to: server)
        defer { proxy.stop() }
        // Only the right password opens a tunnel.
        let delegate = RecordingWebSocketDelegate()
        delegate.challenge = { challenge, answer in
            guard challenge.previousFailureCount == 0, isRight else {
                return answer(.cancelAuthenticationChallenge, nil)
            }
            answer(.useCredential, ScriptedProxy.basicAuth.credential)
        }
        let endpoint = NWEndpoint.hostPort(
            host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(proxy.server.port)")))
        let run = WebSocketRun(server.webSocketURL(host: "localhost"), delegate) {
            $0.proxyConfigurations = [Self.local(ProxyConfiguration(httpCONNECTProxy: endpoint))]
        }
        if isRight {
            try await echo(run)
        } else {
            run.receive()
            run.task.resume()
        }
        let calls = try await run.end()
        #expect(calls.filter { $0.kind == "challenge" } == [.challenge(1, "HTTPBasic r", 0)])
        #expect(calls.contains(.opened(1, nil)) == isRight)
        #expect(server.connectionCount == (isRight ? 1 : 0))
    }

    // PROXY-10, WS-4
    @Test("a proxy that makes no tunnel") func noTunnel() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let proxy = try ScriptedProxy(to: server) { _ in .status(403) }
        defer { proxy.stop() }
        let endpoint = NWEndpoint.hostPort(
            host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(proxy.server.port)")))
        let run = WebSocketRun(server.webSocketURL(host: "localhost"), RecordingWebSocketDelegate()) {
            $0.proxyConfigurations = [Self.local(ProxyConfiguration(httpCONNECTProxy: endpoint))]
        }
        run.receive()
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.filter { $0.kind == "opened" } == [])
        #expect(calls.completionCount == 1)
        #expect(run.delegate.results.count == 1)
        #expect(run.delegate.results.first?.hasPrefix("received: -") == true)
        #expect(server.connectionCount == 0)
    }
}
