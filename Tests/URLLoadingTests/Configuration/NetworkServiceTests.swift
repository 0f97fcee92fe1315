import Foundation
import TestSupport
import Testing
import URLLoading

/// Network requirements on all kinds of connections.
@Suite struct NetworkServiceTests {
    /// Multimedia streaming, AF31 (RFC 4594).
    private static let video: Int32 = 26 << 2

    private func session(_ configure: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
        URLSession {
            $0.networkServiceType = .video
            $0.urlCache = nil
            configure($0)
        }
    }

    // C-9
    @Test("the class of packets of either family", arguments: Loopback.allCases)
    func families(address: Loopback) async throws {
        var options = ScriptedServer.Options()
        options.addresses = [address]
        let server = try ScriptedServer.answering(options) { _ in .text("x") }
        defer { server.stop() }
        let session = session()
        defer { session.invalidateAndCancel() }
        #expect(try await session.text(server.url()) == "x")
        #expect(ClientSockets.trafficClasses(connectedTo: server.port) == [Self.video])
    }

    // C-9: the network sees the proxy's address, and treats what goes there so
    @Test("the class of packets to a proxy") func proxies() async throws {
        // A tunnel, and what is at its end.
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.send(.text("x"), to: try connection.readRequest())
            _ = try connection.waitForClose()
        }
        defer { proxy.stop() }
        let session = session {
            $0.proxyConfigurations = [
                ProxyConfiguration(
                    httpCONNECTProxy: .hostPort(
                        host: "127.0.0.1", port: .init(integerLiteral: UInt16(clamping: proxy.port))))
            ]
        }
        defer { session.invalidateAndCancel() }
        #expect(try await session.text(try #require(URL(string: "http://far.test/"))) == "x")
        #expect(ClientSockets.trafficClasses(connectedTo: proxy.port) == [Self.video])
    }

    // C-9
    @Test("the class of packets of a stream task") func streams() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("x")
            _ = try connection.waitForClose()
        }
        defer { server.stop() }
        let session = session()
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.resume()
        _ = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 10)
        #expect(ClientSockets.trafficClasses(connectedTo: server.port) == [Self.video])
        task.cancel()
    }

    // C-9: of both connections
    @Test("the class of packets of an FTP load") func ftp() async throws {
        var options = FTPServer.Options()
        options.files = ["/a": [UInt8].pattern(count: 100_000)]
        options.scriptedReply = { $0.verb == "RETR" ? .stall(10) : nil }
        let server = try FTPServer(options)
        defer { server.stop() }
        let session = session { $0.usesClassicLoadingMode = true }
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: server.url("/a"))
        var iterator = bytes.makeAsyncIterator()
        _ = try await iterator.next()
        #expect(ClientSockets.trafficClasses(connectedTo: server.port) == [Self.video])
        let data = try await server.dataConnection(0)
        #expect(ClientSockets.trafficClasses(from: data.peerPort) == [Self.video])
    }

    // C-9
    @Test("the class of datagrams of QUIC", .needsHTTP3) func datagrams() async throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in .text("x") }
        defer { server.stop() }
        let port = try SilentDatagramPort(server.port)
        defer { port.close() }
        let session = session()
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url())
        request.assumesHTTP3Capable = true
        #expect(String(decoding: try await session.data(for: request).0, as: UTF8.self) == "x")
        let classes = Set(port.datagrams().map { Int32($0.mark & 0xFC) })
        #expect(classes == [Self.video])
    }

    enum Kind: CaseIterable {
        case stream
        case streamByProxy
        case ftp
        case proxy
    }

    // CONN-20: DNSSEC cannot be validated, so there are no queries
    @Test(
        "names that have to be proved", .inNetworkNamespace, .needsNetworkNamespace, .needsNameServer,
        arguments: Kind.allCases)
    func provedNames(kind: Kind) async throws {
        try NetworkNamespace.raiseLoopback()
        let names = try NameServer { _ in .address([127, 0, 0, 1]) }
        defer { names.stop() }
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let session = session {
            $0.requiresDNSSECValidation = true
            $0.usesClassicLoadingMode = true
            switch kind {
            case .stream, .ftp: break
            case .streamByProxy:
                $0.connectionProxyDictionary = [
                    kCFNetworkProxiesSOCKSEnable: 1, kCFNetworkProxiesSOCKSProxy: "127.0.0.1",
                    kCFNetworkProxiesSOCKSPort: server.port,
                ]
            case .proxy:
                $0.connectionProxyDictionary = [
                    kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "proxy.example",
                    kCFNetworkProxiesHTTPPort: server.port,
                ]
            }
        }
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            switch kind {
            case .stream, .streamByProxy:
                let task = session.streamTask(withHostName: "host.example", port: server.port)
                task.resume()
                _ = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 10)
            case .ftp: _ = try await session.data(from: try #require(URL(string: "ftp://host.example/a")))
            case .proxy: _ = try await session.data(from: try #require(URL(string: "http://10.0.0.1/")))
            }
        }
        #expect(error?.code == .cannotFindHost)
        #expect(server.connectionCount == 0)
        #expect(names.questions.isEmpty)
    }

    // CONN-20, PROXY-7: the name that cannot be proved is the proxy's, and there is another way
    @Test("a proxy name that requires DNSSEC is skipped", arguments: [false, true])
    func provedProxy(isSecure: Bool) async throws {
        let server = try ScriptedServer.answering(tls: isSecure ? TrustedAuthority.server() : nil) { _ in .text("x") }
        defer { server.stop() }
        let session = session {
            $0.requiresDNSSECValidation = true
            var proxy = ProxyConfiguration(
                httpCONNECTProxy: .hostPort(host: "proxy.example", port: 3128))
            proxy.allowFailover = true
            proxy.matchDomains = ["127.0.0.1"]
            $0.proxyConfigurations = [proxy]
        }
        defer { session.invalidateAndCancel() }
        #expect(try await session.text(server.url("/", host: "127.0.0.1")) == "x")
    }
}
