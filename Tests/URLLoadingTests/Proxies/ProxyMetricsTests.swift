import Foundation
import LoadingConnections
import TestSupport
import Testing
import URLLoading

/// The metrics of connections through proxies: inner protocol, addresses.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ProxyMetricsTests {
    enum Kind: CaseIterable {
        case tunnel
        case secureTunnel
        case socks
    }

    private func proxy(_ kind: Kind, to server: ScriptedServer, tls: TLSServerOptions) throws -> ScriptedServer {
        if kind == .socks { return try .socks5(to: server) }
        return try ScriptedServer(tls: kind == .secureTunnel ? tls : nil) { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
    }

    private func session(_ kind: Kind, _ proxy: ScriptedServer, _ delegate: MetricsDelegate) throws -> URLSession {
        let endpoint = NWEndpoint.hostPort(host: "localhost", port: try #require(NWEndpoint.Port("\(proxy.port)")))
        let options = kind == .secureTunnel ? NWProtocolTLS.Options() : nil
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        var way =
            kind == .socks
            ? ProxyConfiguration(socksv5Proxy: endpoint)
            : ProxyConfiguration(httpCONNECTProxy: endpoint, tlsOptions: options)
        way.matchDomains = ["localhost"]
        configuration.proxyConfigurations = [way]
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    // PROXY-5, CONN-2, MET-7, MET-8, MET-9, MET-10
    @Test("HTTP/2 behind a proxy", arguments: Kind.allCases, [true, false])
    func http2(kind: Kind, isNewer: Bool) async throws {
        let versions: [TLSServerOptions.Version] = isNewer ? [.tls12, .tls13] : [.tls13, .tls12]
        let (outer, inner) = try {
            let options = try versions.map { version in
                try TrustedAuthority.server().with {
                    $0.minimumVersion = version
                    $0.maximumVersion = version
                }
            }
            return (options[0], options[1].with { $0.applicationProtocols = ["h2"] })
        }()
        let server = try ScriptedServer(tls: inner) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            // Both at once, or neither.
            let streams = try (0..<2).map { _ in try http2.readRequest() }
            for stream in streams.reversed() { try http2.respond(on: stream, body: "in") }
            try connection.waitForClose()
        }
        defer { server.stop() }
        let proxy = try proxy(kind, to: server, tls: outer)
        defer { proxy.stop() }
        let delegate = MetricsDelegate()
        let session = try session(kind, proxy, delegate)
        defer { session.invalidateAndCancel() }
        let url = server.url("/", host: "localhost")
        async let first = session.data(from: url).0
        async let second = session.data(from: url).0
        #expect(try await [first, second] == [Data("in".utf8), Data("in".utf8)])
        #expect(server.connectionCount == 1 && proxy.connectionCount == 1)
        let transactions = try await delegate.metrics.waitUntil("both") { $0.count == 2 }.flatMap(\.transactionMetrics)
        #expect(transactions.map(\.networkProtocolName) == ["h2", "h2"])
        #expect(transactions.map(\.isProxyConnection) == [true, true])
        #expect(Set(transactions.map(\.isReusedConnection)) == [true, false])
        let version: tls_protocol_version_t = isNewer ? .TLSv13 : .TLSv12
        #expect(transactions.map(\.negotiatedTLSProtocolVersion) == [version, version])
        // The two ends of the one connection that this machine has.
        let record = try await proxy.connection(0)
        let loopback = record.family == .ipv4 ? "127.0.0.1" : "::1"
        for transaction in transactions {
            #expect(transaction.remoteAddress == loopback && transaction.localAddress == loopback)
            #expect(transaction.remotePort == proxy.port && transaction.localPort == record.peerPort)
        }
    }

    // PROXY-5, MET-7, MET-8, MET-10
    @Test("HTTP/1.1 in the clear behind a proxy", arguments: Kind.allCases) func clear(kind: Kind) async throws {
        let server = try ScriptedServer.answering(.text("in"))
        defer { server.stop() }
        let proxy = try proxy(kind, to: server, tls: try TrustedAuthority.server())
        defer { proxy.stop() }
        let delegate = MetricsDelegate()
        let session = try session(kind, proxy, delegate)
        defer { session.invalidateAndCancel() }
        #expect(try await session.data(from: server.url("/", host: "localhost")).0 == Data("in".utf8))
        let transactions = try await delegate.metrics.waitUntil("it") { $0.count == 1 }.flatMap(\.transactionMetrics)
        let transaction = try #require(transactions.first)
        #expect(transaction.networkProtocolName == "http/1.1" && transaction.isProxyConnection)
        // TLS that ends at the proxy is none with the server.
        #expect(transaction.negotiatedTLSProtocolVersion == nil && transaction.remotePort == proxy.port)
    }

    // PROXY-5, MET-10
    @Test(
        "a request that is forwarded by a proxy within TLS is in the clear behind it",
        .needs("Duktape", of: "libduktape207", ProxyAdvisory.runsScripts)) func forwarded() async throws
    {
        let proxy = try ScriptedServer.answering(tls: TrustedAuthority.server()) { .text($0.target) }
        defer { proxy.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.connectionProxyDictionary = [
            kCFNetworkProxiesProxyAutoConfigEnable: 1,
            "ProxyAutoConfigJavaScript": "function FindProxyForURL() { return 'HTTPS localhost:\(proxy.port)' }",
        ]
        let delegate = MetricsDelegate()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://far.test/"))
        #expect(try await session.data(from: url).0 == Data("http://far.test/".utf8))
        let transactions = try await delegate.metrics.waitUntil("it") { $0.count == 1 }.flatMap(\.transactionMetrics)
        let transaction = try #require(transactions.first)
        #expect(transaction.isProxyConnection && transaction.remotePort == proxy.port)
        #expect(transaction.negotiatedTLSProtocolVersion == nil && transaction.negotiatedTLSCipherSuite == nil)
    }

    private final class MetricsDelegate: NSObject, URLSessionTaskDelegate {
        let metrics = EventRecorder<URLSessionTaskMetrics>()

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) { self.metrics.record(metrics) }
    }
}
