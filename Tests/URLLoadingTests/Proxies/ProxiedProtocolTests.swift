import Foundation
import TestSupport
import Testing
import URLLoading

/// Upgraded connections, streams and FTP through proxies.
@Suite(.leavesNothing) struct ProxiedProtocolTests {
    // PROXY-5: what follows is nothing that a proxy could load
    @Test("an upgrade uses a tunnel") func upgrade() async throws {
        let server = try ScriptedServer { connection in
            let request = try connection.readRequest()
            #expect(request.target == "/chat" && request["Proxy-Authorization"] == nil)
            try connection.send("HTTP/1.1 101 Go\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nwelcome")
            while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
        }
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let delegate = RecordingStreamDelegate()
        delegate.challenge = { $1(.useCredential, ScriptedProxy.basicAuth.credential) }
        delegate.answer = { $1(.becomeStream) }
        delegate.becameStream = { [unowned delegate] task in
            delegate.read(task, 7, 7)
            task.closeWrite()
            delegate.read(task, 1, 1)
        }
        let session = URLSession(delegate) { $0.connectionProxyDictionary = authProxy.settings() }
        var request = URLRequest(url: server.url("/chat", host: "localhost"))
        request.setValue("echo", forHTTPHeaderField: "Upgrade")
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.contains(.read("welcome", false, nil)))
        #expect(authProxy.authorizations == ["CONNECT -", "CONNECT \(ScriptedProxy.basicAuth.field())"])
    }

    // STREAM-1, PROXY-5, AUTH-28
    @Test("a stream through a tunnel", arguments: [true, false], [true, false])
    func stream(isLetIn: Bool, isSecureProxy: Bool) async throws {
        let tls = try TLSServer(try TrustedAuthority.server())
        let server = try ScriptedServer { connection in
            try connection.send("hello")
            do { try connection.startTLS(tls) } catch { return }
            while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
        }
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server, tls: isSecureProxy ? try TrustedAuthority.server() : nil)
        defer { authProxy.stop() }
        let asked = EventRecorder<String>()
        let delegate = RecordingStreamDelegate()
        delegate.challenge = { challenge, reply in
            let space = challenge.protectionSpace
            if space.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            asked.record("\(space.isProxy()) \(space.realm ?? "-")")
            reply(isLetIn ? .useCredential : .performDefaultHandling, ScriptedProxy.basicAuth.credential)
        }
        let session = URLSession(delegate) { configuration in
            var way = ProxyConfiguration(
                httpCONNECTProxy: .hostPort(host: "localhost", port: NWEndpoint.Port("\(authProxy.server.port)") ?? 1),
                tlsOptions: isSecureProxy ? NWProtocolTLS.Options() : nil)
            way.matchDomains = ["localhost"]
            configuration.proxyConfigurations = [way]
        }
        let task = session.streamTask(withHostName: "localhost", port: server.port)
        task.resume()
        delegate.read(task, 5, 5)
        if isLetIn {
            task.startSecureConnection()
            delegate.write(task, "secret")
            delegate.read(task, 6, 6)
            task.closeWrite()
            delegate.read(task, 1, 1)
        }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        if isLetIn {
            #expect(calls.contains(.read("hello", false, nil)) && calls.contains(.read("secret", false, nil)))
        } else {
            #expect(calls.contains(.completed(1, .cannotConnectToHost)))
            #expect(server.connectionCount == 0)
        }
        #expect(asked.events == ["true r"])
    }

    /// A server that sends a greeting, then echoes.
    private func greeter() throws -> ScriptedServer {
        try ScriptedServer { connection in
            try connection.send("hello")
            while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
        }
    }

    /// Whether both ends have received data. The write may complete before the first read.
    private func isConversation(_ calls: [Call]) -> Bool {
        let reads: [Call] = [.read("hello", false, nil), .read("echo", false, nil)]
        return calls.filter { reads.contains($0) } == reads && calls.contains(.written(nil))
    }

    private func converse(
        _ delegate: RecordingStreamDelegate, with host: String, _ port: Int, by dictionary: [AnyHashable: Any]
    ) async throws -> [Call] {
        let session = URLSession(delegate) { $0.connectionProxyDictionary = dictionary }
        let task = session.streamTask(withHostName: host, port: port)
        task.resume()
        delegate.read(task, 5, 5)
        delegate.write(task, "echo")
        delegate.read(task, 4, 4)
        task.closeWrite()
        task.closeRead()
        session.finishTasksAndInvalidate()
        return try await delegate.callsUntilInvalid()
    }

    // STREAM-9, PROXY-1, AUTH-28: through the HTTPS proxy, after authentication
    @Test("a stream by the HTTPS proxy of a dictionary", arguments: [true, false])
    func streamByDictionary(isLetIn: Bool) async throws {
        let server = try greeter()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let delegate = RecordingStreamDelegate()
        delegate.challenge = { _, reply in
            reply(isLetIn ? .useCredential : .performDefaultHandling, ScriptedProxy.basicAuth.credential)
        }
        var settings = authProxy.settings()
        settings["HTTPEnable"] = 0
        let calls = try await converse(delegate, with: "far.test", 7, by: settings)
        #expect(authProxy.server.requests.first?.target == "far.test:7")
        if isLetIn {
            #expect(isConversation(calls), "\(calls)")
            #expect(calls.contains(.completed(1, nil)))
            #expect(authProxy.authorizations == ["CONNECT -", "CONNECT \(ScriptedProxy.basicAuth.field())"])
        } else {
            #expect(calls.contains(.completed(1, .cannotConnectToHost)))
            #expect(server.connectionCount == 0)
        }
    }

    // STREAM-9, PROXY-1: and the SOCKS proxy goes before it
    @Test("a stream by the SOCKS proxy of a dictionary") func streamBySOCKS() async throws {
        let server = try greeter()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let proxy = try ScriptedServer.socks5(to: server)
        defer { proxy.stop() }
        let calls = try await converse(
            RecordingStreamDelegate(), with: "far.test", 7,
            by: authProxy.settings(["SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": proxy.port]))
        #expect(isConversation(calls), "\(calls)")
        #expect(calls.contains(.completed(1, nil)))
        #expect(proxy.connectionCount == 1 && authProxy.server.connectionCount == 0)
    }

    // STREAM-9, PROXY-3: hosts that are excepted are gone to directly
    @Test("a stream past the proxies of a dictionary") func streamPastProxies() async throws {
        let server = try greeter()
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let calls = try await converse(
            RecordingStreamDelegate(), with: "localhost", server.port,
            by: authProxy.settings(["ExceptionsList": ["localhost"]]))
        #expect(isConversation(calls), "\(calls)")
        #expect(authProxy.server.connectionCount == 0)
    }

    // MISC-17, PROXY-1, PROXY-5, AUTH-28: as HTTP, with the address as it is
    @Test("FTP by a proxy that loads it") func forwardedFTP() async throws {
        let authProxy = try ScriptedProxy.basic()
        defer { authProxy.stop() }
        let delegate = RecordingDelegate()
        let types = EventRecorder<String>()
        delegate.challenge = { challenge, reply in
            types.record(challenge.protectionSpace.proxyType ?? "-")
            reply(.useCredential, ScriptedProxy.basicAuth.credential)
        }
        let session = URLSession(delegate) {
            $0.connectionProxyDictionary = authProxy.settings()
            $0.usesClassicLoadingMode = true
        }
        let url = try #require(URL(string: "ftp://far.test/pub/a%20b.txt"))
        let (data, response) = try await session.data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "for ftp://far.test/pub/a%20b.txt")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(types.events == [NSURLProtectionSpaceFTPProxy])
        #expect(authProxy.server.requests.allSatisfy { $0["Host"] == "far.test" && $0["Cookie"] == nil })
    }

    // MISC-17, PROXY-5
    @Test("FTP through SOCKS") func ftpThroughSOCKS() async throws {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("over there".utf8)]
        let server = try FTPServer(options)
        defer { server.stop() }
        let names = EventRecorder<String>()
        let proxy = try ScriptedServer { connection in
            _ = try connection.receive(exactly: Int(try connection.receive(exactly: 2)[1]))
            try connection.send([5, 0])
            let head = try connection.receive(exactly: 5)
            names.record(String(decoding: try connection.receive(exactly: Int(head[4])), as: UTF8.self))
            let port = try connection.receive(exactly: 2)
            try connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            try connection.relay(to: Int(port[0]) << 8 | Int(port[1]))
        }
        defer { proxy.stop() }
        let session = URLSession {
            $0.connectionProxyDictionary = ["SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": proxy.port]
            $0.usesClassicLoadingMode = true
        }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "ftp://far.test:\(server.port)/a.txt"))
        let (data, _) = try await session.data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "over there")
        // One for what is said, one for the file.
        #expect(names.events == ["far.test", "far.test"])
    }

    // MISC-17, PROXY-5, AUTH-28: for both connections the user is asked once
    @Test("FTP through the tunnels of a proxy that asks for credentials", arguments: [true, false])
    func ftpThroughGuardedTunnels(staysOpen: Bool) async throws {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("over there".utf8)]
        let server = try FTPServer(options)
        defer { server.stop() }
        let targets = EventRecorder<String>()
        let proxy = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                guard request["Proxy-Authorization"] == ScriptedProxy.basicAuth.field() else {
                    let refusal = ScriptedProxy.refusal
                    try connection.send(staysOpen ? refusal : refusal.with(field: "Connection", "close"), to: request)
                    if staysOpen { continue }
                    try connection.finishSending()
                    try connection.waitForClose()
                    return
                }
                targets.record(String(request.target.prefix { $0 != ":" }))
                try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                let port = request.target.split(separator: ":").last.flatMap { Int($0) }
                return try connection.relay(to: port ?? 0)
            }
        }
        defer { proxy.stop() }
        let way = ProxyConfiguration(
            httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(proxy.port)"))))
        let delegate = RecordingDelegate()
        let asked = EventRecorder<Bool>()
        delegate.challenge = { challenge, reply in
            asked.record(challenge.protectionSpace.isProxy())
            reply(.useCredential, ScriptedProxy.basicAuth.credential)
        }
        let session = URLSession(delegate) {
            $0.proxyConfigurations = [way]
            $0.usesClassicLoadingMode = true
        }
        let url = try #require(URL(string: "ftp://far.test:\(server.port)/a.txt"))
        let (data, _) = try await session.data(from: url)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(String(decoding: data, as: UTF8.self) == "over there")
        #expect(targets.events == ["far.test", "far.test"])
        #expect(asked.events == [true])
    }
}
