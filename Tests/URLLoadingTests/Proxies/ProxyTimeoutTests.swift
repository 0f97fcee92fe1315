import Foundation
import LoadingConnections
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Silent proxies without an alternative route: the load times out, and the error names the proxy.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ProxyTimeoutTests {
    /// The step at which the proxy becomes silent.
    enum Step: CaseIterable {
        case connect
        case secureConnect
        case tlsOfTunnel
        case tlsOfRequest
        case method
        case reply

        var isSOCKS: Bool { self == .method || self == .reply }
        var isTLS: Bool { self == .tlsOfTunnel || self == .tlsOfRequest }
        /// Not distinguished for forwarding proxies.
        var isOfRequest: Bool { self == .tlsOfRequest }
    }

    /// The virtual clock.
    private let stepped: SteppedLoop
    /// Fired when the proxy becomes silent.
    private let isSilent = Signal("the proxy's silence")

    init() throws { stepped = try SteppedLoop() }

    /// The error of a load that times out after the proxy has become silent.
    private func failure(
        after seconds: Int64 = 60, _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> URLError? {
        let load = Task { try await body() }
        try await isSilent.wait()
        try await stepped.step(by: TimeLimits.seconds(seconds))
        return await #expect(throws: URLError.self) { try await load.value }
    }

    private func proxy(silentAt step: Step) throws -> ScriptedServer {
        let tls = try step == .secureConnect ? TLSServer(try TrustedAuthority.server()) : nil
        return try ScriptedServer { [isSilent] connection in
            if let tls { try connection.startTLS(tls) }
            if step == .reply {
                _ = try connection.receive(exactly: Int(try connection.receive(exactly: 2)[1]))
                try connection.send([5, 0])
            }
            isSilent.fire()
            _ = try? connection.waitForClose()
        }
    }

    private func session(_ step: Step, port: Int, _ configure: (URLSessionConfiguration) -> Void = { _ in }) throws
        -> URLSession
    {
        _ = try TrustedAuthority.authority
        let endpoint = NWEndpoint.hostPort(host: "localhost", port: try #require(NWEndpoint.Port("\(port)")))
        let options = NWProtocolTLS.Options()
        return URLSession {
            $0.urlCache = nil
            $0.loop = stepped.loop
            $0.proxyConfigurations = [
                step.isSOCKS
                    ? ProxyConfiguration(socksv5Proxy: endpoint)
                    : ProxyConfiguration(
                        httpCONNECTProxy: endpoint, tlsOptions: step == .secureConnect || step.isTLS ? options : nil)
            ]
            configure($0)
        }
    }

    private func expect(_ error: URLError?, at step: Step, isServer: Bool = false) {
        #expect(error?.code == .timedOut)
        let cause = error?.userInfo[NSUnderlyingErrorKey] as? NSError
        if isServer {
            #expect(cause == nil)
        } else if step.isSOCKS {
            #expect(cause?.domain == NSPOSIXErrorDomain && cause?.code == Int(ETIMEDOUT))
        } else {
            #expect(cause?.domain == "kCFErrorDomainCFNetwork" && cause?.code == (step.isOfRequest ? 306 : 310))
        }
    }

    // PROXY-10
    @Test(
        "a load", arguments: Step.allCases.filter { !$0.isOfRequest }, [true, false])
    func load(step: Step, isTotal: Bool) async throws {
        let proxy = try proxy(silentAt: step)
        defer { proxy.stop() }
        let session = try session(step, port: proxy.port) {
            if isTotal { $0.timeoutIntervalForResource = 50 }
        }
        defer { session.invalidateAndCancel() }
        let error = try await failure(after: isTotal ? 50 : 60) {
            _ = try await session.data(from: try #require(URL(string: "http://far.test/")))
        }
        expect(error, at: step)
        #expect(proxy.connectionCount == 1)
    }

    // PROXY-10
    @Test(
        "a load by a proxy that is asked for it, in its handshake",
        .needs("Duktape", of: "libduktape207", ProxyResolver.runsScripts))
    func forwarded() async throws {
        let proxy = try proxy(silentAt: .tlsOfRequest)
        defer { proxy.stop() }
        let session = URLSession {
            $0.loop = stepped.loop
            $0.connectionProxyDictionary = [
                kCFNetworkProxiesProxyAutoConfigEnable: 1,
                "ProxyAutoConfigJavaScript": "function FindProxyForURL() { return 'HTTPS localhost:\(proxy.port)' }",
            ]
        }
        defer { session.invalidateAndCancel() }
        let error = try await failure {
            _ = try await session.data(from: try #require(URL(string: "http://far.test/")))
        }
        expect(error, at: .tlsOfRequest)
    }

    // PROXY-10, STREAM-1
    @Test("a stream", arguments: [Step.connect, .tlsOfTunnel, .method, .reply]) func stream(step: Step) async throws {
        let proxy = try proxy(silentAt: step)
        defer { proxy.stop() }
        let session = try session(step, port: proxy.port)
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "far.test", port: 7)
        task.resume()
        let error = try await failure {
            _ = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 60)
        }
        expect(error, at: step)
    }

    // PROXY-10, MISC-17
    @Test("FTP", arguments: [Step.connect, .reply]) func ftp(step: Step) async throws {
        let proxy = try proxy(silentAt: step)
        defer { proxy.stop() }
        let session = try session(step, port: proxy.port) {
            $0.usesClassicLoadingMode = true
        }
        defer { session.invalidateAndCancel() }
        let error = try await failure {
            _ = try await session.data(from: try #require(URL(string: "ftp://far.test/a.txt")))
        }
        expect(error, at: step)
    }

    // PROXY-10: whether the proxy or the server is silent is not known then
    @Test("a silent server behind a proxy", arguments: [true, false]) func server(isProxied: Bool) async throws {
        let server = try ScriptedServer { [isSilent] connection in
            isSilent.fire()
            _ = try? connection.waitForClose()
        }
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server) { _ in .text("") }
        defer { authProxy.stop() }
        let session = try session(.connect, port: authProxy.server.port) {
            if !isProxied { $0.proxyConfigurations = [] }
        }
        defer { session.invalidateAndCancel() }
        let url = isProxied ? "https://far.test/" : "https://127.0.0.1:\(server.port)/"
        let error = try await failure {
            _ = try await session.data(from: try #require(URL(string: url)))
        }
        expect(error, at: .connect, isServer: true)
        #expect(server.connectionCount == 1)
    }
}
