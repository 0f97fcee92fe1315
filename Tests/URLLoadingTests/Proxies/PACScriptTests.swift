import Foundation
import LoadingConnections
import TestSupport
import Testing
import URLLoading

/// Loads with routes of a PAC script or the desktop's settings. Only the proxy can resolve the servers' names.
@Suite(
    .needs("Duktape", of: "libduktape207", ProxyResolver.runsScripts), .leavesNothing,
    .timeLimit(.minutes(2)))
struct PACScriptTests {
    private func session(script: String, _ more: [AnyHashable: Any] = [:]) -> URLSession {
        session(
            more.merging([kCFNetworkProxiesProxyAutoConfigEnable: 1, "ProxyAutoConfigJavaScript": script]) { $1 })
    }

    private func session(_ settings: [AnyHashable: Any]) -> URLSession {
        URLSession {
            $0.urlCache = nil
            $0.connectionProxyDictionary = settings
        }
    }

    private func text(_ session: URLSession, _ url: String) async throws -> String {
        String(decoding: try await session.data(from: try #require(URL(string: url))).0, as: UTF8.self)
    }

    private func proxy() throws -> ScriptedServer { try ScriptedServer.answering { .text("for " + $0.target) } }

    private func failure(_ session: URLSession, _ url: String) async throws -> NSError {
        let error = await #expect(throws: URLError.self) { _ = try await text(session, url) }
        #expect(error?.code == .cannotConnectToHost)
        return try #require(error?.userInfo[NSUnderlyingErrorKey] as? NSError)
    }

    // PROXY-1
    @Test("a script picks the proxy by the address") func picks() async throws {
        let (one, other) = (try proxy(), try proxy())
        defer {
            one.stop()
            other.stop()
        }
        let session = session(
            script: """
                function FindProxyForURL(url, host) {
                    if (shExpMatch(url, "*/other/*")) return "PROXY 127.0.0.1:\(other.port)";
                    return host == "a.test" ? "PROXY 127.0.0.1:\(one.port)" : "DIRECT";
                }
                """)
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, "http://a.test/x") == "for http://a.test/x")
        #expect(try await text(session, "http://a.test/other/x") == "for http://a.test/other/x")
        #expect(one.requests.count == 1 && other.requests.count == 1)
    }

    // PROXY-1
    @Test("the routes of a script are tried in order") func inOrder() async throws {
        let proxy = try proxy()
        defer { proxy.stop() }
        let session = session(
            script: """
                function FindProxyForURL() {
                    return "PROXY 127.0.0.1:1; SOCKS 127.0.0.1:1; PROXY 127.0.0.1:\(proxy.port)";
                }
                """)
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, "http://a.test/") == "for http://a.test/")
        #expect(try await text(session, "http://b.test/") == "for http://b.test/")
    }

    // PROXY-1
    @Test("DIRECT") func direct() async throws {
        let server = try ScriptedServer.answering { .text("at " + $0.target) }
        defer { server.stop() }
        let session = session(
            script: """
                function FindProxyForURL(url, host) { return host == 'localhost' ? 'DIRECT' : 'PROXY 127.0.0.1:1' }
                """, ["ExceptionsList": ["<-loopback>"]])
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, server.url("/x", host: "localhost").absoluteString) == "at /x")
    }

    // PROXY-1, PROXY-11: a PAC script must not get the whole URL
    @Test("a script gets only the host of https URLs") func secure() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("in") }
        defer { server.stop() }
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
        defer { proxy.stop() }
        let session = session(
            script: """
                function FindProxyForURL(url, host) {
                    return url == "https://localhost:\(server.port)/" && host == "localhost"
                        ? "PROXY 127.0.0.1:\(proxy.port)" : "PROXY 127.0.0.1:1";
                }
                """, ["ExceptionsList": ["<-loopback>"]])
        defer { session.invalidateAndCancel() }
        #expect(
            try await text(session, "https://me:secret@localhost:\(server.port)/private?token=1#part") == "in")
    }

    // PROXY-1, PROXY-6
    @Test("a script is fetched directly, and once") func fetched() async throws {
        let proxy = try proxy()
        defer { proxy.stop() }
        let home = try ScriptedServer.answering { request in
            #expect(request.target == "/proxy.pac" && request["Cookie"] == nil)
            return .text("function FindProxyForURL() { return 'PROXY 127.0.0.1:\(proxy.port)' }")
        }
        defer { home.stop() }
        let session = session([
            kCFNetworkProxiesProxyAutoConfigEnable: 1,
            kCFNetworkProxiesProxyAutoConfigURLString: home.url("/proxy.pac").absoluteString,
        ])
        defer { session.invalidateAndCancel() }
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<8 { group.addTask { try await text(session, "http://a\(number).test/") } }
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(Set(texts) == Set((0..<8).map { "for http://a\($0).test/" }))
        #expect(home.requests.count == 1)
    }

    /// Takes the requests to one server, and loads none.
    private final class Obstacle: URLProtocol, @unchecked Sendable {
        // Sendable: it has nothing that changes.

        static let port = Watched<Int?>(nil)

        override class func canInit(with request: URLRequest) -> Bool {
            request.url?.port.map { $0 == port.current } ?? false
        }

        override func startLoading() { client?.urlProtocol(self, didFailWithError: URLError(.resourceUnavailable)) }
        override func stopLoading() {}
    }

    // PROXY-1, MISC-18: a class that itself loads with the script's proxy would wait for itself
    @Test("a registered class does not load the script") func registeredClass() async throws {
        let proxy = try proxy()
        defer { proxy.stop() }
        let home = try ScriptedServer.answering { _ in
            .text("function FindProxyForURL() { return 'PROXY 127.0.0.1:\(proxy.port)' }")
        }
        defer { home.stop() }
        Obstacle.port.withValue { $0 = home.port }
        #expect(URLProtocol.registerClass(Obstacle.self))
        defer { URLProtocol.unregisterClass(Obstacle.self) }
        let session = session([
            kCFNetworkProxiesProxyAutoConfigEnable: 1,
            kCFNetworkProxiesProxyAutoConfigURLString: home.url("/proxy.pac").absoluteString,
        ])
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, "http://a.test/") == "for http://a.test/")
        #expect(home.requests.count == 1)
    }

    // PROXY-10
    @Test("a script that cannot be had", arguments: [404, 500, 200, 401, 407]) func absent(status: Int) async throws {
        let home = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        }
        defer { home.stop() }
        var settings: [AnyHashable: Any] = [
            kCFNetworkProxiesProxyAutoConfigEnable: 1,
            kCFNetworkProxiesProxyAutoConfigURLString: home.url("/proxy.pac").absoluteString,
        ]
        let session = session(settings)
        defer { session.invalidateAndCancel() }
        let cause = try await failure(session, "http://a.test/")
        let asksWho = status == 401 || status == 407
        #expect(cause.domain == "kCFErrorDomainCFNetwork" && cause.code == (asksWho ? 309 : 308))
        let proxy = try proxy()
        defer { proxy.stop() }
        settings["HTTPEnable"] = 1
        settings["HTTPProxy"] = "127.0.0.1"
        settings["HTTPPort"] = proxy.port
        let other = self.session(settings)
        defer { other.invalidateAndCancel() }
        #expect(try await text(other, "http://a.test/") == "for http://a.test/")
    }

    // PROXY-1, PROXY-6, PROXY-10: as one that cannot be had
    @Test("a script that cannot be", arguments: ["file:///proxy.pac", "proxy.pac", "", nil] as [String?])
    func impossible(address: String?) async throws {
        var settings: [AnyHashable: Any] = [kCFNetworkProxiesProxyAutoConfigEnable: 1]
        settings[kCFNetworkProxiesProxyAutoConfigURLString] = address
        let session = session(settings)
        defer { session.invalidateAndCancel() }
        #expect(try await failure(session, "http://a.test/").code == 308)
    }

    // PROXY-1
    @Test("where a script is, as a URL or with blanks around it", arguments: [true, false])
    func writing(isURL: Bool) async throws {
        let proxy = try proxy()
        defer { proxy.stop() }
        let home = try ScriptedServer.answering { _ in
            .text("function FindProxyForURL() { return 'PROXY 127.0.0.1:\(proxy.port)' }")
        }
        defer { home.stop() }
        let url = home.url("/proxy.pac")
        let session = session([
            kCFNetworkProxiesProxyAutoConfigEnable: 1,
            kCFNetworkProxiesProxyAutoConfigURLString: isURL ? url : " \(url)\n",
        ])
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, "http://a.test/") == "for http://a.test/")
    }

    // PROXY-10
    @Test("a script without an answer fails the load, and the next at once") func hostile() async throws {
        let session = session(script: "function FindProxyForURL() { for (;;); }")
        defer { session.invalidateAndCancel() }
        for host in ["a.test", "b.test", "c.test"] {
            #expect(try await failure(session, "http://\(host)/").code == 308)
        }
        let start = ContinuousClock.now
        #expect(try await failure(session, "http://d.test/").code == 308)
        #expect(ContinuousClock.now - start < .seconds(2))
    }

    // PROXY-1: unknown results are skipped
    @Test("an answer of nonsense") func nonsense() async throws {
        let session = session(script: "function FindProxyForURL() { return 'QUIC a:1; PROXY /' }")
        defer { session.invalidateAndCancel() }
        #expect(try await failure(session, "http://a.test/").code == 306)
    }

    // T-2
    @Test("a task that is cancelled, or suspended, while the script runs") func interrupted() async throws {
        let proxy = try proxy()
        defer { proxy.stop() }
        let session = session(
            script: """
                function FindProxyForURL(url, host) {
                    for (var end = Date.now() + 300; Date.now() < end;);
                    return "PROXY 127.0.0.1:\(proxy.port)";
                }
                """)
        let url = try #require(URL(string: "http://a.test/"))
        let ended = EventRecorder<Int>()
        let cancelled = session.dataTask(with: url) { _, _, error in
            ended.record((error as? URLError)?.code.rawValue ?? 0)
        }
        cancelled.resume()
        cancelled.cancel()
        let done = Signal("the suspended task's end")
        let suspended = session.dataTask(with: url) { data, _, _ in
            ended.record(data?.count ?? -1)
            done.fire()
        }
        suspended.resume()
        suspended.suspend()
        suspended.resume()
        try await done.wait()
        #expect(ended.events == [-999, "for http://a.test/".utf8.count])
        session.finishTasksAndInvalidate()
    }

    // STREAM-1, PROXY-1
    @Test("a stream uses the script's route") func stream() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("hello")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let proxy = try ScriptedServer { connection in
            let request = try connection.readRequest()
            #expect(request.method == "CONNECT" && request.target == "far.test:7")
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
        defer { proxy.stop() }
        let session = session(
            script: """
                function FindProxyForURL(url, host) {
                    return url == "tcp://far.test:7/" ? "PROXY 127.0.0.1:\(proxy.port)" : "PROXY 127.0.0.1:1";
                }
                """)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "far.test", port: 7)
        task.resume()
        let (data, _) = try await task.readData(ofMinLength: 5, maxLength: 5, timeout: 60)
        #expect(data.map { String(decoding: $0, as: UTF8.self) } == "hello")
        task.cancel()
    }

    // PROXY-1, PROXY-7, MISC-17
    @Test("FTP by the next proxy where the first cannot be reached", arguments: ["SOCKS5", "PROXY"])
    func nextWayOfFTP(kind: String) async throws {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("here".utf8)]
        let server = try FTPServer(options)
        defer { server.stop() }
        let session = session(script: "function FindProxyForURL() { return '\(kind) 127.0.0.1:1; DIRECT' }")
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "ftp://localhost:\(server.port)/a.txt"))
        #expect(String(decoding: try await session.data(from: url).0, as: UTF8.self) == "here")
    }

    // PROXY-5, PROXY-7, CONN-1: what one load has found out, those behind it in the line need not
    @Test(
        "a proxy that loads requests itself and swallows packets, or takes connections and is silent",
        arguments: [("PROXY", false), ("HTTPS", false), ("HTTPS", true)])
    func swallows(kind: String, isTaken: Bool) async throws {
        let server = try ScriptedServer.answering { .text("at " + $0.target) }
        defer { server.stop() }
        let (unreachable, silent) = (try SaturatedPort(), try ScriptedServer { _ = try? $0.waitForClose() })
        defer { silent.stop() }
        let script = """
            function FindProxyForURL() { return "\(kind) 127.0.0.1:\(isTaken ? silent.port : unreachable.port); DIRECT"; }
            """
        let session = URLSession {
            $0.urlCache = nil
            $0.timeoutIntervalForRequest = 1.5
            // Half of what the last would need if each had to find out for himself.
            $0.timeoutIntervalForResource = 3.5
            $0.httpMaximumConnectionsPerHost = 2
            $0.connectionProxyDictionary = [
                kCFNetworkProxiesProxyAutoConfigEnable: 1, "ProxyAutoConfigJavaScript": script,
                "ExceptionsList": ["<-loopback>"],
            ]
        }
        defer { session.invalidateAndCancel() }
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<30 {
                group.addTask { try await text(session, server.url("/\(number)").absoluteString) }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts == Set((0..<30).map { "at /\($0)" }))
        withExtendedLifetime(unreachable) {}
    }

    // PROXY-7, CONN-10
    @Test("proxies that are not there are no tries of the request") func tries() async throws {
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                // A kept connection is closed under the second request.
                if request.path == "/last", connection.index == 0 { return }
                try connection.send(.text("at " + request.path), to: request)
            }
        }
        defer { server.stop() }
        let session = session(
            script: """
                function FindProxyForURL(url, host) {
                    return shExpMatch(url, "*/last") ? "PROXY 127.0.0.1:1; PROXY 127.0.0.1:2; DIRECT" : "DIRECT";
                }
                """, ["ExceptionsList": ["<-loopback>"]])
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, server.url("/first").absoluteString) == "at /first")
        #expect(try await text(session, server.url("/last").absoluteString) == "at /last")
        #expect(server.connectionCount == 2)
    }

    // PROXY-11, AUTH-28
    @Test("Proxy-Authorization of the caller is for the first proxy only") func confidant() async throws {
        let (one, other) = (try proxy(), try proxy())
        defer {
            one.stop()
            other.stop()
        }
        let session = session(
            script: """
                function FindProxyForURL(url, host) {
                    return (host == "a.test" ? "" : "PROXY 127.0.0.1:1; ")
                        + (host == "c.test" ? "PROXY 127.0.0.1:\(other.port)" : "PROXY 127.0.0.1:\(one.port)");
                }
                """)
        defer { session.invalidateAndCancel() }
        for host in ["a.test", "b.test", "c.test"] {
            var request = URLRequest(url: try #require(URL(string: "http://\(host)/")))
            request.setValue("mine", forHTTPHeaderField: "Proxy-Authorization")
            #expect(try await session.data(for: request).0 == Data("for http://\(host)/".utf8))
        }
        #expect(one.requests.map { $0["Proxy-Authorization"] } == ["mine", nil])
        #expect(other.requests.map { $0["Proxy-Authorization"] } == [nil])
    }

    // PROXY-1, PROXY-5
    @Test("SOCKS4 resolves names itself") func socks4() async throws {
        let proxy = try ScriptedServer.socks4 { .text("for \($0) \($1.path)") }
        defer { proxy.stop() }
        let session = session(script: "function FindProxyForURL() { return 'SOCKS4 127.0.0.1:\(proxy.port)' }")
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, "http://far.test/x") == "for far.test:80 /x")
    }
}
