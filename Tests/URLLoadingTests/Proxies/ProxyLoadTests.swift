import Foundation
import LoadingEvents
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

/// Loads through scripted proxies. Only the proxy can resolve the servers' names.
@Suite(.leavesNothing) struct ProxyLoadTests {
    private func session(
        _ dictionary: [AnyHashable: Any]? = nil, _ configurations: [ProxyConfiguration] = []
    ) -> URLSession {
        URLSession {
            $0.urlCache = nil
            $0.connectionProxyDictionary = dictionary
            $0.proxyConfigurations = configurations
        }
    }

    private func http(_ proxy: ScriptedServer, _ name: String = "HTTP") -> [AnyHashable: Any] {
        ["\(name)Enable": 1, "\(name)Proxy": "127.0.0.1", "\(name)Port": proxy.port]
    }

    private func endpoint(_ proxy: ScriptedServer) throws -> NWEndpoint {
        .hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(proxy.port)")))
    }

    private func text(_ session: URLSession, _ url: String) async throws -> String {
        String(decoding: try await session.data(from: try #require(URL(string: url))).0, as: UTF8.self)
    }

    // PROXY-1, PROXY-5, MET-8, MET-9, C-17
    @Test("cleartext requests use the proxy") func forwarding() async throws {
        let proxy = try ScriptedServer.answering { .text("for " + $0.target) }
        defer { proxy.stop() }
        let session = session(http(proxy))
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, "http://a.test/x?y=1") == "for http://a.test/x?y=1")
        let delegate = MetricsDelegate()
        let url = try #require(URL(string: "http://b.test:81"))
        let (data, _) = try await session.data(from: url, delegate: delegate)
        #expect(String(decoding: data, as: UTF8.self) == "for http://b.test:81/")
        #expect(proxy.requests.map { $0["Host"] } == ["a.test", "b.test:81"])
        #expect(proxy.requests.allSatisfy { $0["Proxy-Authorization"] == nil })
        let metrics = try #require(delegate.metrics.current.first)
        #expect(metrics.isProxyConnection && metrics.isReusedConnection)
        #expect(metrics.remotePort == proxy.port)
        // One connection for both hosts.
        #expect(proxy.connectionCount == 1)
    }

    // C-24, PROXY-1: a program that wants fewer connections than usual gets them
    @Test("a proxy may have more connections than a host", arguments: [(6, 20), (2, 2)])
    func connectionsToAProxy(limit: Int, most: Int) async throws {
        let asked = Watched(0)
        let proxy = try ScriptedServer.answering { request in
            asked.withValue { $0 += 1 }
            // The first response comes after so many requests.
            try asked.wait(for: "\(most) requests") { $0 >= most ? () : nil }
            return .text("for " + request.target)
        }
        defer { proxy.stop() }
        let session = URLSession {
            $0.urlCache = nil
            $0.connectionProxyDictionary = http(proxy)
            $0.httpMaximumConnectionsPerHost = limit
        }
        defer { session.invalidateAndCancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let body = try await text(session, "http://h\(number).test/")
                    #expect(body == "for http://h\(number).test/")
                }
            }
            try await group.waitForAll()
        }
        #expect(proxy.connectionCount == most)
    }

    // PROXY-2, PROXY-11
    @Test("proxy credentials are not sent to the server") func credentials() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("in") }
        defer { server.stop() }
        let proxy = try tunnelProxy(to: server)
        defer { proxy.stop() }
        var settings = http(proxy, "HTTPS")
        settings[kCFProxyUsernameKey] = "me"
        settings[kCFProxyPasswordKey] = "secret"
        settings["ExceptionsList"] = ["<-loopback>"]
        let session = session(settings)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url("/", host: "localhost"))
        request.setValue("mine", forHTTPHeaderField: "Authorization")
        request.setValue("a=b", forHTTPHeaderField: "Cookie")
        let (data, _) = try await session.data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "in")
        let asked = try #require(proxy.requests.first)
        #expect(asked.method == "CONNECT" && asked.target == "localhost:\(server.port)")
        #expect(asked["Proxy-Authorization"] == "Basic " + Data("me:secret".utf8).base64EncodedString())
        #expect(asked["Authorization"] == nil && asked["Cookie"] == nil)
        let served = try #require(server.requests.first)
        #expect(served["Authorization"] == "mine" && served["Proxy-Authorization"] == nil)
    }

    /// Opens all tunnels to one server, whatever the requested host.
    private func tunnelProxy(to server: ScriptedServer) throws -> ScriptedServer {
        try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
    }

    // PROXY-5, MET-7
    @Test("https uses a tunnel", arguments: [true, false]) func tunnel(isConfigured: Bool) async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("in") }
        defer { server.stop() }
        let proxy = try tunnelProxy(to: server)
        defer { proxy.stop() }
        var configuration = ProxyConfiguration(httpCONNECTProxy: try endpoint(proxy))
        configuration.matchDomains = ["localhost"]
        var settings = http(proxy, "HTTPS")
        settings["ExceptionsList"] = ["<-loopback>"]
        let session = isConfigured ? session(nil, [configuration]) : session(settings)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 { #expect(try await text(session, server.url("/", host: "localhost").absoluteString) == "in") }
        #expect(proxy.requests.map(\.target) == ["localhost:\(server.port)"])
    }

    // PROXY-10, AUTH-28
    @Test("a proxy that makes no tunnel", arguments: [403, 407, 502, 302]) func refused(status: Int) async throws {
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 \(status) No\r\nLocation: https://evil.test/\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        }
        defer { proxy.stop() }
        let session = session(http(proxy, "HTTPS"))
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) { try await text(session, "https://a.test/") }
        #expect(error?.code == .cannotConnectToHost)
        let cause = error?.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(cause?.domain == "kCFErrorDomainCFNetwork")
        #expect(cause?.code == (status == 407 ? 310 : 311))
        #expect(error?.userInfo[FailedProxy.urlKey] as? String == "http://127.0.0.1:\(proxy.port)")
        #expect(error?.userInfo[FailedProxy.statusKey] as? Int == status)
    }

    // CONN-28, PROXY-10, AUTH-28: neither a tunnel, nor a refusal, nor a challenge
    @Test(
        "a proxy whose answer has a CR without LF", arguments: [200, 403, 407],
        [
            "HTTP/1.1 STATUS No\rX\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 STATUS No\r\nX: a\rProxy-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 STATUS No\r\nProxy-Authenticate: Basic realm=\"r\"\r\rContent-Length: 0\r\n\r\n",
        ])
    func bareCarriageReturn(status: Int, template: String) async throws {
        let received = EventRecorder<[UInt8]>()
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send(template.replacing("STATUS", with: "\(status)"))
            // The handshake of a tunnel, or an answer to the challenge.
            received.record((try? connection.receive()) ?? [])
        }
        defer { proxy.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in handler(.useCredential, URLCredential("me", "secret")) }
        let session = URLSession(delegate) { [settings = http(proxy, "HTTPS")] in
            $0.connectionProxyDictionary = settings
        }
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) { try await text(session, "https://a.test/") }
        #expect(error?.code == .cannotConnectToHost)
        let cause = error?.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(cause?.domain == "kCFErrorDomainCFNetwork" && cause?.code == 311)
        #expect(error?.userInfo[FailedProxy.urlKey] as? String == "http://127.0.0.1:\(proxy.port)")
        #expect(error?.userInfo[FailedProxy.statusKey] == nil)
        #expect(try await received.waitFor(count: 1) == [[]])
        #expect(proxy.requests.map(\.method) == ["CONNECT"])
    }

    // PROXY-10: the error distinguishes proxy and server
    @Test("which proxy has failed, if one has", arguments: ["HTTP", "HTTPS", "SOCKS"]) func failed(kind: String)
        async throws
    {
        let port = try RefusingPort()
        var settings: [AnyHashable: Any] = ["\(kind)Enable": 1, "\(kind)Proxy": "127.0.0.1", "\(kind)Port": port.port]
        settings[kCFProxyUsernameKey] = "me"
        settings[kCFProxyPasswordKey] = "secret"
        let session = session(settings)
        defer { session.invalidateAndCancel() }
        let url = (kind == "HTTPS" ? "https" : "http") + "://a.test/"
        let error = await #expect(throws: URLError.self) { try await text(session, url) }
        let scheme = kind == "SOCKS" ? "socks5" : "http"
        #expect(error?.userInfo[FailedProxy.urlKey] as? String == "\(scheme)://127.0.0.1:\(port.port)")
        #expect(error?.userInfo[FailedProxy.statusKey] == nil)
        let direct = await #expect(throws: URLError.self) {
            try await text(session, "http://127.0.0.1:\(port.port)/")
        }
        #expect(direct?.code == .cannotConnectToHost)
        #expect(direct?.userInfo[FailedProxy.urlKey] == nil)
    }

    // PROXY-10, CONN-15
    @Test("a proxy that is silent") func silent() async throws {
        let proxy = try ScriptedServer { try $0.waitForClose() }
        defer { proxy.stop() }
        let session = URLSession {
            $0.timeoutIntervalForRequest = 0.2
            $0.connectionProxyDictionary = http(proxy, "HTTPS")
        }
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) { try await text(session, "https://a.test/") }
        #expect(error?.code == .timedOut)
        #expect(error?.userInfo[FailedProxy.urlKey] as? String == "http://127.0.0.1:\(proxy.port)")
    }

    // AUTH-28: what is said for a tunnel is shown as what is said to servers, and is no part of their exchange
    @Test("heads of tunnels") func heads() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("in") }
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let heads = Watched<[MessageHead]>([])
        let metrics = MetricsDelegate()
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, reply in
            challenge.protectionSpace.isProxy()
                ? reply(.useCredential, ScriptedProxy.basicAuth.credential) : reply(.performDefaultHandling, nil)
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = authProxy.settings()
        configuration.headObserver = { head in heads.withValue { $0.append(head) } }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: server.url("/a", host: "localhost"), delegate: metrics)
        #expect(String(decoding: data, as: UTF8.self) == "in")
        let starts = heads.current.map { head in
            let start =
                switch head.start {
                case .request(let method, let target): "\(method) \(target)"
                case .response(let status, _): "\(status)"
                }
            return (head.isOfTunnel ? "tunnel: " : "") + start
        }
        let target = "localhost:\(server.port)"
        #expect(
            starts == [
                "tunnel: CONNECT \(target)", "tunnel: 407", "tunnel: CONNECT \(target)", "tunnel: 200", "GET /a", "200",
            ])
        let sent = authProxy.server.requests.map { request in
            request.fields.map { MessageHead.Field($0.name, $0.value) }
        }
        #expect(heads.current.filter { $0.isOfTunnel && $0.isRequest }.map(\.fields) == sent)
        #expect(metrics.metrics.current.first?.requestHead?.start == .request(method: "GET", target: "/a"))
    }

    // PROXY-5: the name is the proxy's to resolve
    @Test("SOCKS5, with and without a user", arguments: [true, false]) func socks(hasUser: Bool) async throws {
        let proxy = try ScriptedServer { connection in
            let count = Int(try connection.receive(exactly: 2)[1])
            let methods = try connection.receive(exactly: count)
            if hasUser {
                guard methods.contains(2) else { return connection.reset() }
                try connection.send([5, 2])
                let user = try connection.receive(exactly: Int(try connection.receive(exactly: 2)[1]))
                let password = try connection.receive(exactly: Int(try connection.receive(exactly: 1)[0]))
                guard user == Array("me".utf8), password == Array("secret".utf8) else { return connection.reset() }
                try connection.send([1, 0])
            } else {
                try connection.send([5, 0])
            }
            let head = try connection.receive(exactly: 5)
            let name = String(decoding: try connection.receive(exactly: Int(head[4])), as: UTF8.self)
            _ = try connection.receive(exactly: 2)
            try connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(name.utf8.count)\r\n\r\n\(name)")
            try connection.waitForClose()
        }
        defer { proxy.stop() }
        var configuration = ProxyConfiguration(socksv5Proxy: try endpoint(proxy))
        if hasUser { configuration.applyCredential(username: "me", password: "secret") }
        let session = session(nil, [configuration])
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, "http://far.test/") == "far.test")
    }

    // PROXY-7
    @Test("without the proxy, if that is allowed", arguments: [true, false]) func failover(isAllowed: Bool) async throws
    {
        let server = try ScriptedServer.answering(.text("direct"))
        defer { server.stop() }
        let unreachable = try RefusingPort()
        var configuration = ProxyConfiguration(
            httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(unreachable.port)"))))
        configuration.allowFailover = isAllowed
        configuration.matchDomains = ["127.0.0.1"]
        let session = session(nil, [configuration])
        defer { session.invalidateAndCancel() }
        if isAllowed {
            #expect(try await text(session, server.url().absoluteString) == "direct")
        } else {
            let error = await #expect(throws: URLError.self) { try await text(session, server.url().absoluteString) }
            #expect(error?.code == .cannotConnectToHost)
            #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 310)
        }
    }

    // PROXY-3, PROXY-4, PROXY-9
    @Test("past the proxy", arguments: ["", "exception", "loopback"]) func past(why: String) async throws {
        let server = try ScriptedServer.answering(.text("direct"))
        defer { server.stop() }
        let proxy = try ScriptedServer.answering(.text("by a proxy"))
        defer { proxy.stop() }
        var settings = why.isEmpty ? [:] : http(proxy)
        if why == "exception" { settings["ExceptionsList"] = ["<-loopback>", "127.0.0.1"] }
        let session = session(settings)
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, server.url().absoluteString) == "direct")
        #expect(proxy.connectionCount == 0)
    }

    private final class MetricsDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        let metrics = Watched<[URLSessionTaskTransactionMetrics]>([])

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            self.metrics.withValue { $0 += metrics.transactionMetrics }
        }
    }
}

extension MessageHead {
    fileprivate var isRequest: Bool { if case .request = start { true } else { false } }
}
