import Foundation
import TestSupport
import Testing
import URLLoading

/// TLS connections to proxies, with tunnels for TLS within.
@Suite(.leavesNothing) struct SecureProxyTests {
    private func session(_ authProxy: ScriptedProxy, _ delegate: (any URLSessionDelegate)? = nil) throws -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        var proxy = ProxyConfiguration(
            httpCONNECTProxy: .hostPort(
                host: "localhost", port: try #require(NWEndpoint.Port("\(authProxy.server.port)"))),
            tlsOptions: NWProtocolTLS.Options())
        proxy.matchDomains = ["localhost"]
        configuration.proxyConfigurations = [proxy]
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    private func server(isSecure: Bool = true) throws -> ScriptedServer {
        try .answering(tls: isSecure ? try TrustedAuthority.server() : nil) { request in
            switch request.path {
            case "/big": CannedResponse(body: .bytes([UInt8].pattern(count: 3_000_000)))
            default: .text("in \(request.bodyText.utf8.count)")
            }
        }
    }

    // PROXY-5, PROXY-7, MET-7
    @Test("TLS in TLS", arguments: [true, false]) func within(isSecure: Bool) async throws {
        let server = try server(isSecure: isSecure)
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server, tls: try TrustedAuthority.server()) { _ in .text("") }
        defer { authProxy.stop() }
        let session = try session(authProxy)
        defer { session.invalidateAndCancel() }
        let url = server.url("/", host: "localhost")
        #expect(try await session.data(from: url).0 == Data("in 0".utf8))
        #expect(
            try await session.data(from: server.url("/big", host: "localhost")).0
                == Data([UInt8].pattern(count: 3_000_000)))
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        let (data, _) = try await session.upload(for: request, from: Data(count: 2_000_000))
        #expect(data == Data("in 2000000".utf8))
        #expect(authProxy.server.connectionCount == 1)
        #expect(authProxy.server.requests.map(\.target) == ["localhost:\(server.port)"])
        // A second connection resumes both.
        await session.flush()
        #expect(try await session.data(from: url).0 == Data("in 0".utf8))
    }

    // AUTH-28, TLS-4: first the proxy's certificate, then its question, then the server's certificate
    @Test("challenges of a secure proxy") func questions() async throws {
        _ = try TrustedAuthority.authority
        let server = try ScriptedServer.answering(
            .text("in"), tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server, tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { authProxy.stop() }
        let seen = EventRecorder<String>()
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            let space = challenge.protectionSpace
            seen.record("\(space.authenticationMethod.dropFirst(25)) \(space.host) \(space.port)")
            reply(
                .useCredential, space.serverTrust.map { URLCredential(trust: $0) } ?? ScriptedProxy.basicAuth.credential
            )
        }
        let session = try session(authProxy, delegate)
        #expect(try await session.data(from: server.url("/", host: "localhost")).0 == Data("in".utf8))
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(
            seen.events == [
                "ServerTrust localhost \(authProxy.server.port)", "HTTPBasic localhost \(authProxy.server.port)",
                "ServerTrust localhost \(server.port)",
            ])
    }

    // TLS-4, TLS-5, PROXY-10: an untrusted proxy gets no request, and its certificate is for its own name
    @Test("a proxy that is not trusted") func distrusted() async throws {
        let server = try server()
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server, tls: TLSServerOptions(TestIdentity.selfSigned(.localhost))) { _ in
            .text("")
        }
        defer { authProxy.stop() }
        let session = try session(authProxy)
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            try await session.data(from: server.url("/", host: "a.localhost"))
        }
        #expect(error?.code == .serverCertificateUntrusted)
        var policies: CFArray?
        #expect(SecTrustCopyPolicies(try #require(error?.failureURLPeerTrust), &policies) == errSecSuccess)
        #expect(policies as? [SecPolicy] == [SecPolicyCreateSSL(true, "localhost")])
        #expect(authProxy.server.requests.isEmpty && server.connectionCount == 0)
    }

    // ERR-5: the outer connection breaks under the inner one
    @Test("a proxy that closes the connection", arguments: ["cut", "reset", "garbage"]) func broken(how: String)
        async throws
    {
        let tls = try TLSServer(try TrustedAuthority.server())
        let proxy = try ScriptedServer { connection in
            try connection.startTLS(tls)
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            // The client's first flight of the inner handshake.
            _ = try connection.receive()
            switch how {
            case "cut": connection.close()
            case "reset": connection.reset()
            default:
                try connection.send([UInt8](repeating: 7, count: 100))
                _ = try? connection.waitForClose()
            }
        }
        defer { proxy.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        var way = ProxyConfiguration(
            httpCONNECTProxy: .hostPort(host: "localhost", port: try #require(NWEndpoint.Port("\(proxy.port)"))),
            tlsOptions: NWProtocolTLS.Options())
        way.matchDomains = ["far.test"]
        configuration.proxyConfigurations = [way]
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            try await session.data(from: try #require(URL(string: "https://far.test/")))
        }
        let codes: [URLError.Code?] = [.secureConnectionFailed, .networkConnectionLost]
        #expect(codes.contains(error?.code))
    }
}
