import Foundation
import LoadingConnections
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// NTLM with several routes to the server: later messages are sent only on the connection's route.
@Suite(
    .needs("Duktape", of: "libduktape207", ProxyResolver.runsScripts),
    .needs("gss-ntlmssp", of: "gss-ntlmssp", GSSSecurityContext.knowsNTLM),
    .leavesNothing, .timeLimit(.minutes(2)))
struct NTLMRouteTests {
    /// - Parameter ways: The result of the PAC script.
    private func session(_ ways: String, _ delegate: RecordingDelegate = Self.user()) -> URLSession {
        URLSession(delegate) {
            $0.urlCache = nil
            $0.connectionProxyDictionary = [
                kCFNetworkProxiesProxyAutoConfigEnable: 1,
                "ProxyAutoConfigJavaScript": "function FindProxyForURL() { return '\(ways)' }",
                "ExceptionsList": ["<-loopback>"],
            ]
        }
    }

    private static func user() -> RecordingDelegate {
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            if challenge.protectionSpace.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            reply(.useCredential, NTLMAuthResponder.credential)
        }
        return delegate
    }

    private func text(_ session: URLSession, _ url: URL, sayingToProxies field: String? = nil) async throws -> String {
        var request = URLRequest(url: url)
        request.setValue(field, forHTTPHeaderField: "Proxy-Authorization")
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    /// A proxy with an untrusted certificate, which does not count as a failed proxy.
    private func distrusted() throws -> ScriptedServer {
        _ = try TrustedAuthority.authority
        let tls = try TLSServerOptions(TestIdentity.selfSigned(.localhost))
        return try ScriptedServer.answering(tls: tls) { _ in .text("by another server") }
    }

    // PROXY-11, AUTH-19: what the caller says to the first proxy of the route goes nowhere else
    @Test("a direct connection sends no proxy credentials") func directly() async throws {
        let server = try ScriptedServer.answering { NTLMAuthResponder().answer($0) }
        defer { server.stop() }
        let distrustedProxy = try distrusted()
        defer { distrustedProxy.stop() }
        let session = session("HTTPS localhost:\(distrustedProxy.port); DIRECT")
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, server.url("/a"), sayingToProxies: "mine") == "in /a")
        #expect(server.requests.map(\.target) == ["/a", "/a", "/a"])
        #expect(server.requests.map { NTLMAuthResponder.message($0["Authorization"]) } == [nil, 1, 3])
        #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil })
        #expect(distrustedProxy.requests.isEmpty)
    }

    // PROXY-5, AUTH-19
    @Test("a proxy after a direct route gets absolute-form requests") func forwarded() async throws {
        let ntlmAuth = NTLMAuthResponder(fields: [("Proxy-Support", "Session-Based-Authentication")])
        let proxy = try ScriptedServer.answering { ntlmAuth.answer($0) }
        defer { proxy.stop() }
        let unreachable = try RefusingPort()
        let session = session("DIRECT; PROXY 127.0.0.1:\(proxy.port)")
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://127.0.0.1:\(unreachable.port)/a"))
        #expect(try await text(session, url) == "in \(url)")
        #expect(proxy.requests.map(\.target) == [String](repeating: url.absoluteString, count: 3))
        #expect(proxy.requests.map { NTLMAuthResponder.message($0["Authorization"]) } == [nil, 1, 3])
    }

    // AUTH-19: RFC 4559 §6
    @Test("an authentication step for the server is not sent to a proxy") func goneBetweenSteps() async throws {
        let server = try ScriptedServer.answering { NTLMAuthResponder().answer($0) }
        defer { server.stop() }
        let proxy = try ScriptedServer.answering(.text("by a proxy"))
        defer { proxy.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, reply in
            server.stop()
            reply(.useCredential, NTLMAuthResponder.credential)
        }
        let session = session("DIRECT; PROXY 127.0.0.1:\(proxy.port)", delegate)
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) { try await text(session, server.url("/a")) }
        #expect(error?.code == .cannotConnectToHost)
        #expect(server.requests.map { NTLMAuthResponder.message($0["Authorization"]) } == [nil])
        #expect(proxy.requests.isEmpty)
    }

    // AUTH-19, AUTH-28
    @Test("NTLM with the second proxy is not restarted for the first") func secondProxy() async throws {
        let ntlmAuth = NTLMAuthResponder(source: .proxy)
        let proxy = try ScriptedServer.answering { ntlmAuth.answer($0) }
        defer { proxy.stop() }
        let distrustedProxy = try distrusted()
        defer { distrustedProxy.stop() }
        let session = session("HTTPS localhost:\(distrustedProxy.port); PROXY 127.0.0.1:\(proxy.port)")
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://far.test/a"))
        #expect(try await text(session, url) == "in http://far.test/a")
        #expect(proxy.requests.map { NTLMAuthResponder.message($0["Proxy-Authorization"]) } == [nil, 1, 3])
        #expect(distrustedProxy.requests.isEmpty)
    }

    // AUTH-28: each request tries the ways anew
    @Test("the second proxy asks once", arguments: [true, false]) func secondProxyAsks(isRight: Bool) async throws {
        let authProxy = try ScriptedProxy.basic()
        defer { authProxy.stop() }
        let distrustedProxy = try distrusted()
        defer { distrustedProxy.stop() }
        let asked = EventRecorder<Int>()
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            if challenge.protectionSpace.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            asked.record(challenge.previousFailureCount)
            let wrong = URLCredential("Mufasa", "wrong")
            let isOver = isRight || challenge.previousFailureCount > 0
            reply(.useCredential, isOver ? ScriptedProxy.basicAuth.credential : wrong)
        }
        let session = session(
            "HTTPS localhost:\(distrustedProxy.port); PROXY 127.0.0.1:\(authProxy.server.port)", delegate)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://far.test/"))
        #expect(try await text(session, url) == "for http://far.test/")
        #expect(asked.events == (isRight ? [0] : [0, 1]))
        #expect(authProxy.authorizations.count == (isRight ? 2 : 3))
    }

    // PROXY-11: one host and port may be two proxies, one of them in cleartext
    @Test("credentials for TLS are not sent in cleartext") func kinds() async throws {
        let proxy = try ScriptedServer { connection in
            // A handshake is answered by nonsense.
            if connection.index == 0 { return try connection.send("HTTP/1.1 400 No\r\n\r\n") }
            let request = try connection.readRequest()
            try connection.send(.text("for " + request.target), to: request)
            try connection.waitForClose()
        }
        defer { proxy.stop() }
        let session = session("HTTPS 127.0.0.1:\(proxy.port); PROXY 127.0.0.1:\(proxy.port)")
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://far.test/"))
        #expect(try await text(session, url, sayingToProxies: "mine") == "for http://far.test/")
        #expect(proxy.requests.map { $0["Proxy-Authorization"] } == [nil])
    }

    // AUTH-19, AUTH-16: one whose connections to servers others share would let those in as well (RFC 4559 §6)
    @Test(
        "through a proxy that loads requests itself, only where it says that it keeps connections apart",
        arguments: [
            (nil, false), ("other", false), ("", false), ("Session-Based-Authentication", true),
            ("other, session-based-authentication ", true),
        ] as [(String?, Bool)])
    func proxySupport(field: String?, isSafe: Bool) async throws {
        let (basic, ntlmAuth) = (
            BasicAuthResponder(), NTLMAuthResponder(fields: field.map { [("Proxy-Support", $0)] } ?? [])
        )
        let proxy = try ScriptedServer.answering { request in
            let letIn = basic.answer(request)
            if letIn.status == 200 { return letIn }
            let answer = ntlmAuth.answer(request)
            return answer.status == 200 ? answer : answer.with(field: "WWW-Authenticate", "Basic realm=\"r\"")
        }
        defer { proxy.stop() }
        let asked = EventRecorder<String>()
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            let method = challenge.protectionSpace.authenticationMethod
            asked.record(method)
            reply(
                .useCredential,
                method == NSURLAuthenticationMethodNTLM ? NTLMAuthResponder.credential : basic.credential)
        }
        let session = URLSession(delegate) {
            $0.urlCache = nil
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port]
        }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://far.test/"))
        _ = try await text(session, url)
        #expect(asked.events == [isSafe ? NSURLAuthenticationMethodNTLM : NSURLAuthenticationMethodHTTPBasic])
        let said = proxy.requests.map { $0["Authorization"]?.split(separator: " ").first ?? "-" }
        #expect(said == (isSafe ? ["-", "NTLM", "NTLM"] : ["-", "Basic"]))
    }

    // AUTH-19: a proxy behind the first may be another one each time
    @Test("NTLM ends when Proxy-Support is missing") func proxySupportEnds() async throws {
        let safe = NTLMAuthResponder(fields: [("Proxy-Support", "Session-Based-Authentication")])
        let proxy = try ScriptedServer.answering { request in
            (request["Authorization"] == nil ? safe : NTLMAuthResponder()).answer(request)
        }
        defer { proxy.stop() }
        let session = session("PROXY 127.0.0.1:\(proxy.port)")
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://far.test/"))
        #expect(try await text(session, url) == "who are you?")
        #expect(proxy.requests.map { NTLMAuthResponder.message($0["Authorization"]) } == [nil, 1])
    }
}
