import Foundation
import TestSupport
import Testing
import URLLoading

/// The same behaviours over each version of HTTP, with the same source, against whoever speaks it; and how many
/// connections that takes.
@Suite(.needs(.nginx), .needs(.nghttpx)) struct ProtocolMatrixTests {
    enum Peer: CaseIterable {
        case nginx1
        case nginx2
        case nghttpx2

        var protocolName: String { self == .nginx1 ? "http/1.1" : "h2" }
        var isShared: Bool { self != .nginx1 }
    }

    /// A server, and what it has.
    private struct Setting {
        let peer: Peer
        let server: NginxServer
        let front: NghttpxServer?

        init(_ peer: Peer, directives: String = "") throws {
            self.peer = peer
            var options = NginxServer.Options()
            options.offersHTTP2 = peer == .nginx2
            options.directives =
                """
                location = /redirect { return 302 /small; }
                location = /slow { limit_rate 2m; alias files/big; }
                location = /trailers { add_trailer X-Checksum abc; alias files/small; }
                location = /guarded { auth_basic r; auth_basic_user_file users; alias files/small; }
                location = /dropped { return 444; }
                \(directives)
                """
            let authority = try TrustedAuthority.authority
            server = try NginxServer(
                files: [
                    "small": Array("small".utf8), "big": ProtocolMatrixTests.big, "empty": [],
                    "../users": Array("me:{PLAIN}secret\n".utf8),
                ], authority: authority, options: options)
            front = peer == .nghttpx2 ? try NghttpxServer(before: server.port, authority: authority) : nil
        }

        func url(_ path: String) -> URL { front?.secureURL(path) ?? server.secureURL(path) }

        func stop() {
            front?.stop()
            server.stop()
        }

        /// How many connections the client has made. To be asked after `stop()`.
        var connectionCount: Int {
            if let front { return Set(front.log.compactMap { $0.split(separator: " ").first }).count }
            return Set(server.log.filter { !$0.line.contains("/status/204") }.map(\.connection)).count
        }
    }

    private static let big = [UInt8].pattern(count: 4_000_000)

    private func with<Result>(
        _ peer: Peer, _ configure: (URLSessionConfiguration) -> Void = { _ in },
        _ body: (Setting, URLSession) async throws -> Result
    ) async throws -> (Result, Setting) {
        let setting = try Setting(peer)
        defer { setting.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configure(configuration)
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let result = try await body(setting, session)
        setting.stop()
        return (result, setting)
    }

    private func status(_ response: URLResponse) -> Int? { (response as? HTTPURLResponse)?.statusCode }

    /// Keeps the metrics of a task.
    private final class MetricsDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        let metrics = Watched<[URLSessionTaskTransactionMetrics]>([])

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            self.metrics.withValue { $0 += metrics.transactionMetrics }
        }
    }

    // CONN-2, S-6, S-8, MET-7, MET-8, MET-10
    @Test("one small response after the other", arguments: Peer.allCases) func small(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            for isReused in [false, true, true] {
                let delegate = MetricsDelegate()
                let (data, response) = try await session.data(from: setting.url("/small"), delegate: delegate)
                #expect(String(decoding: data, as: UTF8.self) == "small")
                #expect(status(response) == 200)
                #expect(response.expectedContentLength == 5)
                #expect(response.mimeType == "application/octet-stream")
                let metrics = try #require(delegate.metrics.current.first)
                #expect(metrics.networkProtocolName == peer.protocolName)
                #expect(metrics.isReusedConnection == isReused)
                #expect(metrics.negotiatedTLSProtocolVersion == .TLSv13)
                #expect(metrics.countOfRequestHeaderBytesSent > 0)
                #expect(metrics.countOfResponseHeaderBytesReceived > 0)
                #expect(metrics.countOfResponseBodyBytesReceived >= 5)
            }
            let (none, response) = try await session.data(from: setting.url("/empty"))
            #expect(none.isEmpty && status(response) == 200)
        }
        #expect(setting.connectionCount == 1)
    }

    // CONN-22
    @Test("a big response, in memory and in a file", arguments: Peer.allCases) func big(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            let (data, _) = try await session.data(from: setting.url("/big"))
            #expect(data == Data(Self.big))
            let (file, _) = try await session.download(from: setting.url("/big"))
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(try Data(contentsOf: file) == Data(Self.big))
            var bytes: [UInt8] = []
            for try await byte in try await session.bytes(from: setting.url("/small")).0 { bytes.append(byte) }
            #expect(bytes == Array("small".utf8))
        }
        #expect(setting.connectionCount == 1)
    }

    // MISC-5
    @Test("uploads of data, a file and a stream", arguments: Peer.allCases) func uploads(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            let directory = try TemporaryDirectory()
            let file = try directory.write(Self.big, to: "body")
            var request = URLRequest(url: setting.url("/upload"))
            request.httpMethod = "POST"
            let (_, first) = try await session.upload(for: request, from: Data(Self.big))
            #expect(status(first) == 200)
            let (_, second) = try await session.upload(for: request, fromFile: file)
            #expect(status(second) == 200)
            request.httpBodyStream = InputStream(data: Data(Self.big))
            let (_, third) = try await session.data(for: request)
            #expect(status(third) == 200)
        }
        #expect(setting.connectionCount == 1)
    }

    // CONN-1, CONN-3, S-9
    @Test("a hundred at once", arguments: Peer.allCases) func hundred(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<100 {
                    group.addTask { try await session.data(from: setting.url("/small")).0.count }
                }
                var total = 0
                for try await count in group { total += count }
                #expect(total == 500)
            }
        }
        #expect(setting.connectionCount == (peer.isShared ? 1 : 6))
    }

    // R-1
    @Test("a redirect, and statuses", arguments: Peer.allCases) func redirect(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            let (data, response) = try await session.data(from: setting.url("/redirect"))
            #expect(String(decoding: data, as: UTF8.self) == "small")
            #expect(response.url?.path == "/small")
            for code in [204, 304, 404, 503] {
                #expect(status(try await session.data(from: setting.url("/status/\(code)")).1) == code)
            }
            var request = URLRequest(url: setting.url("/small"))
            request.httpMethod = "HEAD"
            let (none, head) = try await session.data(for: request)
            #expect(none.isEmpty && head.expectedContentLength == 5)
        }
        #expect(setting.connectionCount == 1)
    }

    // AUTH-1
    @Test("a challenge", arguments: Peer.allCases) func challenge(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            #expect(status(try await session.data(from: setting.url("/guarded")).1) == 401)
            let url = setting.url("/guarded").absoluteString.replacing("//", with: "//me:secret@")
            let (data, response) = try await session.data(from: try #require(URL(string: url)))
            #expect(status(response) == 200)
            #expect(String(decoding: data, as: UTF8.self) == "small")
        }
        #expect(setting.connectionCount == 1)
    }

    // CONN-23
    @Test("trailers", arguments: Peer.allCases) func trailers(peer: Peer) async throws {
        _ = try await with(peer) { setting, session async throws in
            let (data, response) = try await session.data(from: setting.url("/trailers"))
            #expect(String(decoding: data, as: UTF8.self) == "small")
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Checksum") == nil)
        }
    }

    // S-42: of those who share a connection one goes, and the others do not notice
    @Test("cancelled in the middle of a body", arguments: Peer.allCases) func cancelled(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            for _ in 0..<3 {
                let (bytes, _) = try await session.bytes(from: setting.url("/slow"))
                var iterator = bytes.makeAsyncIterator()
                _ = try await iterator.next()
                async let other = session.data(from: setting.url("/small"))
                bytes.task.cancel()
                await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
                #expect(try await other.0.count == 5)
            }
        }
        if peer.isShared { #expect(setting.connectionCount == 1) }
    }

    // CONN-10
    @Test("a server that drops the request", arguments: Peer.allCases) func dropped(peer: Peer) async throws {
        _ = try await with(peer) { setting, session async throws in
            var outcome: String
            do {
                let (_, response) = try await session.data(from: setting.url("/dropped"))
                outcome = "\(status(response) ?? 0)"
            } catch let error as URLError {
                outcome = "\(error.code.rawValue)"
            }
            // nghttpx answers for the server behind it.
            #expect(outcome == (peer == .nghttpx2 ? "502" : "-1005"))
            let (after, _) = try await session.data(from: setting.url("/small"))
            #expect(after.count == 5)
        }
    }

    // CONN-22: who does not read holds the server up, and nobody else
    @Test("a slow reader beside a quick one", arguments: Peer.allCases) func slowReader(peer: Peer) async throws {
        let (_, setting) = try await with(peer) { setting, session async throws in
            let (slow, _) = try await session.bytes(from: setting.url("/big"))
            var iterator = slow.makeAsyncIterator()
            let first = try await iterator.next()
            for _ in 0..<10 { #expect(try await session.data(from: setting.url("/big")).0.count == Self.big.count) }
            var count = first == nil ? 0 : 1
            while try await iterator.next() != nil { count += 1 }
            #expect(count == Self.big.count)
        }
        if peer.isShared { #expect(setting.connectionCount == 1) }
    }
}
