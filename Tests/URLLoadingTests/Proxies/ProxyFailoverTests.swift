import Foundation
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// Failover to the next route if a proxy fails.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ProxyFailoverTests {
    enum Kind: CaseIterable {
        case connect
        case secureConnect
        case socks

        func configuration(port: Int, host: String = "127.0.0.1") throws -> ProxyConfiguration {
            let endpoint = NWEndpoint.hostPort(
                host: NWEndpoint.Host(host), port: try #require(NWEndpoint.Port("\(port)")))
            var configuration =
                switch self {
                case .connect: ProxyConfiguration(httpCONNECTProxy: endpoint)
                case .secureConnect:
                    ProxyConfiguration(httpCONNECTProxy: endpoint, tlsOptions: NWProtocolTLS.Options())
                case .socks: ProxyConfiguration(socksv5Proxy: endpoint)
                }
            configuration.allowFailover = true
            configuration.matchDomains = ["127.0.0.1", "localhost", "far.test"]
            return configuration
        }
    }

    /// The silence timeout of a proxy if there is another route.
    private static let silence = TimeLimits.seconds(5)

    /// - Parameter stepped: The virtual clock of the session; nil for real time.
    private func session(
        _ ways: [ProxyConfiguration], _ delegate: (any URLSessionDelegate)? = nil, on stepped: SteppedLoop? = nil
    ) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.proxyConfigurations = ways
        configuration.loop = stepped?.loop
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    private func text(_ session: URLSession, _ url: URL) async throws -> String {
        String(decoding: try await session.data(from: url).0, as: UTF8.self)
    }

    /// Accepts connections, and sends nothing.
    private func silentProxy() throws -> ScriptedServer {
        try ScriptedServer { connection in _ = try? connection.waitForClose() }
    }

    /// Starts an operation that uses a silent proxy first, advances the clock by its timeout, and returns the result.
    private func outlast<Result: Sendable>(
        _ stepped: SteppedLoop, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        async let result = body()
        try await stepped.waitForTimer(in: Self.silence)
        try await stepped.step(by: Self.silence)
        return try await result
    }

    // PROXY-7
    @Test("a proxy that drops packets leaves time for the next route", arguments: Kind.allCases)
    func droppedPackets(kind: Kind) async throws {
        let server = try ScriptedServer.answering(.text("direct"))
        defer { server.stop() }
        let unreachable = try SaturatedPort()
        let stepped = try SteppedLoop()
        let session = session([try kind.configuration(port: unreachable.port)], on: stepped)
        defer { session.invalidateAndCancel() }
        #expect(try await outlast(stepped) { try await text(session, server.url()) } == "direct")
        withExtendedLifetime(unreachable) {}
    }

    // PROXY-7, CONN-18, S-89
    @Test("a silent proxy is last for the next loads, until the session is reset", arguments: Kind.allCases)
    func silent(kind: Kind) async throws {
        let server = try ScriptedServer.answering(.text("direct"))
        defer { server.stop() }
        let proxy = try silentProxy()
        defer { proxy.stop() }
        let stepped = try SteppedLoop()
        let session = session([try kind.configuration(port: proxy.port)], on: stepped)
        defer { session.invalidateAndCancel() }
        #expect(try await outlast(stepped) { try await text(session, server.url()) } == "direct")
        #expect(try await text(session, server.url()) == "direct")
        // The proxy may take a connection later than it is made.
        _ = try await proxy.connection(0)
        #expect(proxy.connectionCount == 1)
        await session.flush()
        #expect(try await outlast(stepped) { try await text(session, server.url()) } == "direct")
        _ = try await proxy.connection(1)
        #expect(proxy.connectionCount == 2)
        await session.reset()
        #expect(try await outlast(stepped) { try await text(session, server.url()) } == "direct")
        _ = try await proxy.connection(2)
        #expect(proxy.connectionCount == 3)
    }

    // PROXY-7: also one that is remembered, when the way before it fails
    @Test("a failed proxy is used if it is the only route") func last() async throws {
        let server = try ScriptedServer.answering(.text("in"))
        defer { server.stop() }
        let isUp = Watched(false)
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequest()
            guard isUp.current else { return }
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
        defer { proxy.stop() }
        let session = session([try Kind.connect.configuration(port: proxy.port)])
        defer { session.invalidateAndCancel() }
        let unreachable = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(unreachable.port)/"))
        let error = await #expect(throws: URLError.self) { try await text(session, url) }
        #expect(error?.code == .cannotConnectToHost && proxy.connectionCount == 1)
        isUp.withValue { $0 = true }
        #expect(try await text(session, url) == "in")
        #expect(proxy.connectionCount == 2)
    }

    // STREAM-1, PROXY-7
    @Test("a stream task by the next route", arguments: [true, false]) func stream(isTaken: Bool) async throws {
        let server = try ScriptedServer { connection in
            try connection.send("hello")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let (unreachable, proxy) = (try SaturatedPort(), try silentProxy())
        defer { proxy.stop() }
        let stepped = try SteppedLoop()
        let session = session(
            [try Kind.connect.configuration(port: isTaken ? proxy.port : unreachable.port)], on: stepped)
        defer { session.invalidateAndCancel() }
        let read: @Sendable () async throws -> String? = {
            let task = session.streamTask(withHostName: "localhost", port: server.port)
            defer { task.cancel() }
            task.resume()
            let (data, _) = try await task.readData(ofMinLength: 5, maxLength: 5, timeout: 60)
            return data.map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try await outlast(stepped, read) == "hello")
        #expect(try await read() == "hello")
        if isTaken { _ = try await proxy.connection(0) }
        #expect(proxy.connectionCount == (isTaken ? 1 : 0))
        withExtendedLifetime(unreachable) {}
    }

    // MISC-17, PROXY-7
    @Test("FTP by the next route", arguments: [true, false]) func ftp(isTaken: Bool) async throws {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("here".utf8)]
        let server = try FTPServer(options)
        defer { server.stop() }
        let (unreachable, proxy) = (try SaturatedPort(), try silentProxy())
        defer { proxy.stop() }
        let stepped = try SteppedLoop()
        let session = session(
            [try Kind.connect.configuration(port: isTaken ? proxy.port : unreachable.port)], on: stepped)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "ftp://localhost:\(server.port)/a.txt"))
        #expect(try await outlast(stepped) { try await text(session, url) } == "here")
        #expect(try await text(session, url) == "here")
        if isTaken { _ = try await proxy.connection(0) }
        #expect(proxy.connectionCount == (isTaken ? 1 : 0))
        withExtendedLifetime(unreachable) {}
    }

    // PROXY-7: it has the time that the load has
    @Test("a proxy without an alternative is awaited") func alone() async throws {
        let server = try ScriptedServer.answering(.text("in"))
        defer { server.stop() }
        let release = Signal("the proxy's answer")
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.wait(for: release)
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
        defer { proxy.stop() }
        var way = try Kind.connect.configuration(port: proxy.port)
        way.allowFailover = false
        let stepped = try SteppedLoop()
        let session = session([way], on: stepped)
        defer { session.invalidateAndCancel() }
        async let loaded = text(session, server.url())
        try await proxy.waitForRequests(1)
        try await stepped.step(by: 4 * Self.silence)
        release.fire()
        #expect(try await loaded == "in")
    }

    // AUTH-28, PROXY-7: timeouts are suspended during a challenge
    @Test("no failover during an authentication challenge") func asked() async throws {
        let server = try ScriptedServer.answering(.text("in"))
        defer { server.stop() }
        let authProxy = try ScriptedProxy.basic(to: server)
        defer { authProxy.stop() }
        let replies = Watched<[RecordingDelegate.ChallengeHandler]>([])
        let delegate = RecordingDelegate()
        delegate.challenge = { _, reply in replies.withValue { $0.append(reply) } }
        let stepped = try SteppedLoop()
        let session = session([try Kind.connect.configuration(port: authProxy.server.port)], delegate, on: stepped)
        async let loaded = text(session, server.url())
        let reply = try await replies.wait(for: "the question") { $0.first }
        replies.withValue { $0 = [] }
        try await stepped.step(by: 4 * Self.silence)
        reply(.useCredential, ScriptedProxy.basicAuth.credential)
        #expect(try await loaded == "in")
        #expect(authProxy.authorizations == ["CONNECT -", "CONNECT \(ScriptedProxy.basicAuth.field())"])
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // PROXY-7: the late answer is the server's, which no other proxy would reach faster
    @Test("a proxy is not left for the server behind it") func behind() async throws {
        let begun = Signal("the client's handshake")
        let release = Signal("the server's handshake")
        let tls = try TLSServer(try TrustedAuthority.server())
        let server = try ScriptedServer { connection in
            try connection.waitForBytes()
            begun.fire()
            try connection.wait(for: release)
            try connection.startTLS(tls)
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server) { _ in .text("") }
        defer { authProxy.stop() }
        let stepped = try SteppedLoop()
        let session = session([try Kind.connect.configuration(port: authProxy.server.port)], on: stepped)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "https://localhost:\(server.port)/"))
        async let loaded = text(session, url)
        // It begins when the proxy has done its part.
        try await begun.wait()
        try await stepped.step(by: 8 * Self.silence)
        release.fire()
        #expect(try await loaded == "in")
        #expect(server.connectionCount == 1)
    }

    /// How a proxy fails.
    enum Fault: String, CaseIterable {
        case refuses403
        case refuses407
        case refuses502
        case answersGarbage
        case closes
        case speaksNoTLS
        case isNotTrusted

        /// Whether a connection to the proxy was made.
        var isAnswer: Bool { rawValue.hasPrefix("refuses") }
        var kind: Kind { self == .speaksNoTLS || self == .isNotTrusted ? .secureConnect : .connect }
    }

    // PROXY-7, PROXY-10, AUTH-28, TLS-4: the next route is used when there is no connection to the proxy, or none that
    // uses HTTP (RFC 9110 §9.3.6: any answer but 2xx says that there is no tunnel)
    @Test("failures that lead to the next route", arguments: Fault.allCases) func fault(fault: Fault) async throws {
        _ = try TrustedAuthority.authority
        let server = try ScriptedServer.answering(.text("direct"))
        defer { server.stop() }
        let tls = try fault == .isNotTrusted ? TLSServer(TLSServerOptions(TestIdentity.selfSigned(.localhost))) : nil
        let proxy = try ScriptedServer { connection in
            if let tls {
                _ = try? connection.startTLS(tls)
                return
            }
            if fault == .speaksNoTLS {
                try connection.send("HTTP/1.1 400 Speak up\r\nContent-Length: 0\r\n\r\n")
                _ = try? connection.waitForClose()
                return
            }
            _ = try connection.readRequest()
            if fault == .closes { return }
            try connection.send(
                fault == .answersGarbage
                    ? "SSH-2.0-OpenSSH\r\n\r\n" : "HTTP/1.1 \(fault.rawValue.suffix(3)) No\r\nContent-Length: 0\r\n\r\n"
            )
            _ = try? connection.waitForClose()
        }
        defer { proxy.stop() }
        let session = session([try fault.kind.configuration(port: proxy.port, host: "localhost")])
        defer { session.invalidateAndCancel() }
        guard fault.isAnswer else { return #expect(try await text(session, server.url()) == "direct") }
        for _ in 0..<2 {
            let error = await #expect(throws: URLError.self) { try await text(session, server.url()) }
            #expect(error?.code == .cannotConnectToHost)
            let cause = error?.userInfo[NSUnderlyingErrorKey] as? NSError
            #expect(cause?.code == (fault == .refuses407 ? 310 : 311))
        }
        // It is not left by the next load either.
        #expect(proxy.requests.map(\.method) == ["CONNECT", "CONNECT"])
        #expect(server.connectionCount == 0)
    }

    // PROXY-2, PROXY-7: what was said to one proxy was not said to the next
    @Test("each proxy gets its own credentials", arguments: [true, false])
    func users(isDigest: Bool) async throws {
        let server = try ScriptedServer.answering(.text("in"))
        defer { server.stop() }
        var rules = DigestAuthResponder.Rules()
        rules.source = .proxy
        let (one, other) = (DigestAuthResponder(rules), DigestAuthResponder(rules))
        // It asks once, and is gone.
        let leaving = try ScriptedServer { connection in
            let request = try connection.readRequest()
            if connection.index == 0 { try connection.send(one.answer(request).closing(), to: request) }
        }
        defer { leaving.stop() }
        let authProxy = try ScriptedProxy(to: server) { isDigest ? other.answer($0) : ScriptedProxy.answer($0) }
        defer { authProxy.stop() }
        let ways = try [leaving.port, authProxy.server.port].map { port in
            var way = try Kind.connect.configuration(port: port)
            way.applyCredential(username: "Mufasa", password: "Circle of Life")
            return way
        }
        let session = session(ways)
        defer { session.invalidateAndCancel() }
        #expect(try await text(session, server.url()) == "in")
        #expect(leaving.connectionCount == 2)
        #expect(authProxy.authorizations.first == "CONNECT \(ScriptedProxy.basicAuth.field())")
        #expect(authProxy.authorizations.count == (isDigest ? 2 : 1))
    }
}
