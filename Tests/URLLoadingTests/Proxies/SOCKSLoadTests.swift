import Foundation
import TestSupport
import Testing
import URLLoading

/// Loads through SOCKS proxies that refuse, close, or send too much.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct SOCKSLoadTests {
    /// The proxy's replies to greeting, password and request; after the last one it is silent or closes.
    struct Script: Sendable, CustomTestStringConvertible {
        var replies: [[UInt8]]
        var leaves = false
        /// The domain and code of the underlying error.
        var domain = "kCFErrorDomainCFNetwork"
        var number: Int
        var asksWho = false

        var testDescription: String { "\(replies)\(leaves ? ", and leaves" : "")" }

        static let refusals = [
            Script(replies: [[4, 0]], number: 101), Script(replies: [Array("HTTP/1.1 400".utf8)], number: 101),
            Script(replies: [[5, 0xFF]], number: 124), Script(replies: [[5, 9]], number: 123),
            Script(replies: [[5, 2], [1, 1]], number: 122, asksWho: true),
            Script(replies: [[5, 0], [5, 1, 0, 1, 0, 0, 0, 0, 0, 0]], number: 120),
            Script(replies: [[5, 0], [5, 2]], number: 120), Script(replies: [[5, 0], [5, 5]], number: 120),
            Script(replies: [[5, 0], [5, 8]], number: 121), Script(replies: [[5, 0], [5, 0, 0, 9, 0]], number: 121),
        ]

        /// In each state, with nothing or a part of the reply.
        static let breaks = [
            [], [[5]], [[5, 2]], [[5, 2], [1]], [[5, 0]], [[5, 0], [5]], [[5, 0], [5, 0, 0, 1, 0]],
        ].map {
            Script(replies: $0, leaves: true, domain: NSPOSIXErrorDomain, number: Int(ECONNRESET), asksWho: true)
        }
    }

    private func session(_ proxy: ScriptedServer, asksWho: Bool = false) throws -> URLSession {
        var way = ProxyConfiguration(
            socksv5Proxy: .hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(proxy.port)"))))
        if asksWho { way.applyCredential(username: "me", password: "secret") }
        return URLSession {
            $0.urlCache = nil
            $0.proxyConfigurations = [way]
        }
    }

    // PROXY-10
    @Test("a proxy that refuses, or leaves", arguments: Script.refusals + Script.breaks)
    func refused(script: Script) async throws {
        let proxy = try ScriptedServer { connection in
            do {
                for (number, reply) in script.replies.enumerated() {
                    // A greeting, a password, and the request have their lengths in them.
                    _ = try connection.receive()
                    try connection.send(reply)
                    if number == script.replies.count - 1, script.leaves { return }
                }
                if script.leaves { _ = try connection.receive() } else { try connection.waitForClose() }
            } catch  where connection.record.end != nil {
                return
            }
        }
        defer { proxy.stop() }
        let session = try session(proxy, asksWho: script.asksWho)
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            try await session.data(from: try #require(URL(string: "http://far.test/")))
        }
        #expect(error?.code == .cannotConnectToHost)
        let cause = error?.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(cause?.domain == script.domain && cause?.code == script.number)
        #expect(proxy.connectionCount == 1)
    }

    // PROXY-10: unexpected bytes after the handshake are an error
    @Test("more than was asked for", arguments: [true, false]) func more(isSOCKS: Bool) async throws {
        let proxy = try ScriptedServer { connection in
            if isSOCKS {
                _ = try connection.receive(exactly: Int(try connection.receive(exactly: 2)[1]))
                try connection.send([5, 0])
                _ = try connection.receive()
                try connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0] + Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
            } else {
                _ = try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            }
            _ = try? connection.waitForClose()
        }
        defer { proxy.stop() }
        let endpoint = NWEndpoint.hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(proxy.port)")))
        let session = URLSession {
            $0.proxyConfigurations = [
                isSOCKS ? ProxyConfiguration(socksv5Proxy: endpoint) : ProxyConfiguration(httpCONNECTProxy: endpoint)
            ]
        }
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            try await session.data(from: try #require(URL(string: "http://far.test/")))
        }
        #expect(error?.code == .cannotConnectToHost)
        #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == (isSOCKS ? Int(ECONNRESET) : 311))
    }

    /// The step at which a proxy stalls.
    enum State: CaseIterable {
        case connect
        case tls
        case method
        case password
        case reply
    }

    // T-5, T-7: one end, and the proxy's connection goes
    @Test("cancelled while a proxy is awaited", arguments: State.allCases) func cancelled(state: State) async throws {
        let isAwaited = Signal("what is awaited")
        let proxy = try ScriptedServer { connection in
            _ = try connection.receive()
            if state == .password || state == .reply {
                try connection.send([5, state == .password ? 2 : 0])
                _ = try connection.receive()
            }
            isAwaited.fire()
            _ = try? connection.waitForClose()
        }
        defer { proxy.stop() }
        let endpoint = NWEndpoint.hostPort(host: "127.0.0.1", port: try #require(NWEndpoint.Port("\(proxy.port)")))
        let options = state == .tls ? NWProtocolTLS.Options() : nil
        var way =
            state == .connect || state == .tls
            ? ProxyConfiguration(httpCONNECTProxy: endpoint, tlsOptions: options)
            : ProxyConfiguration(socksv5Proxy: endpoint)
        if state == .password { way.applyCredential(username: "me", password: "secret") }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.proxyConfigurations = [way] }
        let task = session.dataTask(with: try #require(URL(string: "http://far.test/")))
        task.resume()
        try await isAwaited.wait()
        task.cancel()
        _ = try await proxy.connection(0).waitForEnd()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
    }
}
