import Foundation
import TestSupport
import Testing

@testable import URLLoading

/// Events about the trust in servers.
@Suite(.leavesNothing) struct ServerTrustEventTests {
    /// The events of the tasks that `body` starts, up to the end of that many tasks.
    private func events(
        _ delegate: TrustDelegate? = nil, tasks: Int = 1,
        configured: (URLSessionConfiguration) throws -> Void = { _ in },
        _ body: (URLSession) async throws -> Void
    ) async throws -> [URLSessionEvent] {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        try configured(configuration)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let events = EventRecorder<URLSessionEvent>()
        let number = session.core.number
        URLSession.eventHandler = { if $0.session == number { events.record($0) } }
        defer { URLSession.eventHandler = nil }
        try await body(session)
        return try await events.waitUntil("the ends") { all in all.count { $0.name == .taskEnded } == tasks }
    }

    private func results(_ events: [URLSessionEvent]) -> [[String: String]] {
        events.filter { $0.name == .serverTrust }.map(\.attributes)
    }

    private let trusted = ["server.address": "localhost", "decision": "trusted", "by": "system"]

    private func server(_ version: String, _ options: TLSServerOptions) throws -> ScriptedServer {
        let options = options.with { $0.applicationProtocols = version == "h2" ? ["h2"] : ["http/1.1"] }
        guard version == "h2" else { return try .answering(.text("hello"), tls: options) }
        return try ScriptedServer(tls: options) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            while true { try http2.respond(on: http2.readRequest(), body: "hello") }
        }
    }

    // MISC-28, TLS-4: once for a connection, between the beginning and the end of the handshake
    @Test("a certificate that is accepted", arguments: ["http/1.1", "h2"]) func accepted(version: String) async throws {
        let server = try server(version, TrustedAuthority.server())
        defer { server.stop() }
        let all = try await events(tasks: 2) { session in
            for _ in 0..<2 { _ = try await session.data(from: server.url(host: "localhost")) }
        }
        #expect(results(all) == [trusted])
        #expect(
            all.map(\.name.rawValue).filter { $0.hasPrefix("tls") || $0 == "connection" } == [
                "tls.began", "tls.trust", "tls.ended", "connection", "connection",
            ])
        #expect(all.first { $0.name == .serverTrust }?.message == "trust: localhost trusted by the system's roots")
        #expect(all.filter { $0.name == .connection }.map { $0.attributes["reused"] } == ["false", "true"])
        #expect(
            all.last { $0.name == .transactionEnded }?.attributes["network.protocol.name"] == version)
    }

    // MISC-28, CONN-7
    @Test(
        "a certificate that is accepted or refused over HTTP/3", .needsHTTP3, .needs(.gtlsserver),
        arguments: [
            URLSession.AuthChallengeDisposition.performDefaultHandling, .useCredential, .cancelAuthenticationChallenge,
        ]) func http3(answer: URLSession.AuthChallengeDisposition) async throws
    {
        let server = try GtlsServer(files: ["x": Array("x".utf8)], authority: TrustedAuthority.authority)
        defer { server.stop() }
        var request = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(server.port)/x")))
        request.assumesHTTP3Capable = true
        let asked = request
        let all = try await events(TrustDelegate(answer)) { _ = try? await $0.data(for: asked) }
        let isTrusted = answer != .cancelAuthenticationChallenge
        #expect(
            results(all) == [
                [
                    "server.address": "127.0.0.1", "decision": isTrusted ? "trusted" : "refused",
                    "by": answer == .performDefaultHandling ? "system" : "delegate",
                ]
            ])
        // The events of a connection come when it has ended; a cancelled task does not wait for that.
        let names = isTrusted ? ["tls.began", "tls.trust", "tls.ended", "connection"] : ["tls.trust", "tls.began"]
        #expect(all.map(\.name.rawValue).filter { $0.hasPrefix("tls") || $0 == "connection" } == names)
        #expect(
            all.first { $0.name == .transactionEnded }?.attributes["network.protocol.name"] == (isTrusted ? "h3" : nil))
    }

    // MISC-28, TLS-5
    @Test("a certificate that is refused", arguments: ["http/1.1", "h2"]) func refused(version: String) async throws {
        _ = try TrustedAuthority.authority
        let server = try server(version, TLSServerOptions(authority: TestCertificateAuthority()))
        defer { server.stop() }
        let all = try await events { _ = try? await $0.data(from: server.url(host: "localhost")) }
        let result = try #require(results(all).first)
        let reason = try #require(result["reason"])
        #expect(
            results(all) == [
                ["server.address": "localhost", "decision": "refused", "by": "evaluation", "reason": reason]
            ])
        #expect(all.last?.message.contains(reason) == true && !reason.isEmpty)
        #expect(!all.contains { $0.name == .secureConnectionEnded })
    }

    // MISC-28, AUTH-6
    @Test(
        "the delegate decides",
        arguments: [
            URLSession.AuthChallengeDisposition.useCredential, .cancelAuthenticationChallenge, .rejectProtectionSpace,
        ])
    func delegate(answer: URLSession.AuthChallengeDisposition) async throws {
        _ = try TrustedAuthority.authority
        let server = try server("http/1.1", TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { server.stop() }
        let decision = answer == .useCredential ? "trusted" : "refused"
        let all = try await events(TrustDelegate(answer)) {
            _ = try? await $0.data(from: server.url(host: "localhost"))
        }
        #expect(
            results(all) == [["server.address": "localhost", "decision": decision, "by": "delegate"]])
    }

    // MISC-28, TLS-2: the delegate alone does not suffice
    @Test("App Transport Security refuses what the delegate trusts") func transportSecurity() async throws {
        _ = try TrustedAuthority.authority
        let server = try server("http/1.1", TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { server.stop() }
        let all = try await events(
            TrustDelegate(.useCredential), configured: { $0.appTransportSecurity = [:] },
            { _ = try? await $0.data(from: server.url(host: "localhost")) })
        #expect(
            results(all) == [
                [
                    "server.address": "localhost", "decision": "refused", "by": "transportSecurity",
                    "reason": "the server is not trusted",
                ]
            ])
    }

    // MISC-28
    @Test("an authority of the session") func additionalAuthority() async throws {
        _ = try TrustedAuthority.authority
        let authority = try TestCertificateAuthority()
        let servers = try [
            server("http/1.1", TLSServerOptions(authority: authority)), server("http/1.1", TrustedAuthority.server()),
        ]
        defer { for server in servers { server.stop() } }
        let all = try await events(
            tasks: 2, configured: { $0.additionalAuthorities = [authority.root.der] },
            { for server in servers { _ = try await $0.data(from: server.url(host: "localhost")) } })
        #expect(
            results(all) == [
                ["server.address": "localhost", "decision": "trusted", "by": "additionalAuthority"], trusted,
            ])
    }

    // MISC-28, AUTH-3, TLS-8
    @Test("a resumed session is reported only if the delegate decides", arguments: [true, false])
    func resumed(isAsked: Bool) async throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in
            var response = CannedResponse.text("hello")
            response.keepsAlive = false
            return response
        }
        defer { server.stop() }
        let all = try await events(isAsked ? TrustDelegate(.useCredential) : nil, tasks: 2) { session in
            for _ in 0..<2 { _ = try await session.data(from: server.url(host: "localhost")) }
        }
        #expect(server.connections.map { $0.handshake?.wasResumed } == [false, true])
        let byDelegate = ["server.address": "localhost", "decision": "trusted", "by": "delegate"]
        #expect(results(all) == (isAsked ? [byDelegate, byDelegate] : [trusted]))
    }

    // MISC-28, CONN-3
    @Test("a connection that another name of the certificate shares") func coalesced() async throws {
        let profile = CertificateProfile.localhost.with { $0.names = [.dns("a.localhost"), .dns("b.localhost")] }
        let server = try server("h2", TrustedAuthority.server(profile))
        defer { server.stop() }
        let all = try await events(tasks: 3) { session in
            for host in ["a.localhost", "b.localhost", "b.localhost"] {
                _ = try await session.data(from: server.url(host: host))
            }
        }
        #expect(server.connectionCount == 1)
        #expect(
            results(all)
                == ["a.localhost", "b.localhost"].map {
                    ["server.address": $0, "decision": "trusted", "by": "system"]
                })
    }

    // MISC-28, PROXY-5: first of the proxy, then of the server within
    @Test("a proxy over TLS") func proxy() async throws {
        let server = try server("http/1.1", TrustedAuthority.server())
        defer { server.stop() }
        let proxy = try ScriptedProxy(to: server, tls: TrustedAuthority.server()) { _ in .text("") }
        defer { proxy.stop() }
        let port = try #require(NWEndpoint.Port("\(proxy.server.port)"))
        var route = ProxyConfiguration(
            httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: port), tlsOptions: NWProtocolTLS.Options())
        route.matchDomains = ["localhost"]
        let routes = [route]
        let all = try await events(
            configured: { $0.proxyConfigurations = routes },
            { _ = try await $0.data(from: server.url(host: "localhost")) })
        #expect(results(all).map { $0["server.address"] } == ["127.0.0.1", "localhost"])
        #expect(results(all).map { $0["by"] } == ["system", "system"])
    }

    // MISC-28, STREAM-6
    @Test("a stream task that starts TLS", arguments: [true, false]) func stream(isTrusted: Bool) async throws {
        _ = try TrustedAuthority.authority
        let server =
            try isTrusted
            ? server("http/1.1", TrustedAuthority.server())
            : server("http/1.1", TLSServerOptions(authority: TestCertificateAuthority()))
        defer { server.stop() }
        let all = try await events { session in
            let task = session.streamTask(withHostName: "localhost", port: server.port)
            task.startSecureConnection()
            task.resume()
            let request = Data("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            try? await task.write(request, timeout: 10)
            _ = try? await task.readData(ofMinLength: 1, maxLength: 100, timeout: 10)
            task.cancel()
        }
        #expect(results(all).map { $0["by"] } == [isTrusted ? "system" : "evaluation"])
    }
}
