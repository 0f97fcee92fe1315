import Foundation
import TestSupport
import Testing
import URLLoading

/// Servers and proxies whose part of a handshake arrives in pieces: each arrival ends the silence.
@Suite(.leavesNothing) struct SlowHandshakeTests {
    /// A TLS alert: the handshake has failed.
    private static let alert: [UInt8] = [0x15, 3, 1, 0, 2, 2, 40]
    /// In seconds; less than all pauses together, and more than one.
    private static let idle = 1.2

    /// Receives something before each part, and sends the part's bytes one by one.
    ///
    /// - Parameter answer: What it sends after the next arrival, at once.
    private static func server(_ parts: [[UInt8]], answer: String = "") throws -> ScriptedServer {
        try ScriptedServer { connection in
            for part in parts {
                _ = try connection.receive()
                for byte in part {
                    try connection.send([byte])
                    try? Signal("nothing").wait(within: .milliseconds(300))
                }
            }
            if !answer.isEmpty {
                _ = try connection.receive()
                try connection.send(answer)
            }
            try connection.waitForClose()
        }
    }

    private func failure(
        _ url: String, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> URLError.Code? {
        let session = URLSession {
            $0.timeoutIntervalForRequest = Self.idle
            change($0)
        }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: url))
        return await #expect(throws: URLError.self) { try await session.data(from: url) }?.code
    }

    // CONN-15
    @Test("a TLS handshake") func handshake() async throws {
        let server = try Self.server([Self.alert])
        defer { server.stop() }
        #expect(try await failure("https://127.0.0.1:\(server.port)/") == .secureConnectionFailed)
    }

    // CONN-15
    @Test("a server that stops within the TLS handshake") func silence() async throws {
        let server = try Self.server([[0x15, 3]])
        defer { server.stop() }
        #expect(try await failure("https://127.0.0.1:\(server.port)/") == .timedOut)
    }

    // CONN-15
    @Test("the answer of an HTTP proxy to CONNECT") func connect() async throws {
        let proxy = try Self.server([Array("HTTP/1.0 403 N\n\n".utf8)])
        defer { proxy.stop() }
        let port = try #require(NWEndpoint.Port("\(proxy.port)"))
        let code = try await failure("https://far.test/") {
            $0.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "127.0.0.1", port: port))]
        }
        #expect(code == .cannotConnectToHost)
    }

    // CONN-15
    @Test("the answers of a SOCKS proxy") func socks() async throws {
        let proxy = try Self.server(
            [[5, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]], answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        defer { proxy.stop() }
        let port = try #require(NWEndpoint.Port("\(proxy.port)"))
        let session = URLSession {
            $0.timeoutIntervalForRequest = Self.idle
            $0.proxyConfigurations = [ProxyConfiguration(socksv5Proxy: .hostPort(host: "127.0.0.1", port: port))]
        }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://far.test/"))
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
    }

    // CONN-15, STREAM-6
    @Test("TLS of a stream task") func stream() async throws {
        let server = try Self.server([Self.alert])
        defer { server.stop() }
        let session = URLSession { $0.timeoutIntervalForRequest = Self.idle }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        task.startSecureConnection()
        task.resume()
        let error = await #expect(throws: URLError.self) {
            _ = try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0)
        }
        #expect(error?.code == .secureConnectionFailed)
    }
}
