import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// Session resumption and early data over QUIC.
@Suite("HTTP/3, one connection after another", .needsHTTP3, .needs(.gtlsserver), .serialized)
struct HTTP3ResumptionTests {
    /// A session that closes idle connections at once, so that each load makes a connection.
    private static let shortLives = ["--timeout=200ms"]

    private func server(_ options: [String] = shortLives, port: Int? = nil) throws -> GtlsServer {
        try GtlsServer(
            files: ["small": Array("small".utf8), "big": .pattern(count: 300_000)],
            authority: TrustedAuthority.authority, options: options, port: port)
    }

    private func session(
        _ delegate: any URLSessionDelegate, isEarly: Bool = true, isClassic: Bool = false
    ) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = 20
        configuration.enablesEarlyData = isEarly
        configuration.usesClassicLoadingMode = isClassic
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    private func request(_ port: Int, _ path: String) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(port)\(path)")))
        request.assumesHTTP3Capable = true
        return request
    }

    /// Waits until there are no connections to the port.
    private func untilAlone(_ port: Int) async throws {
        try await eventually { Self.connections(to: port) == 0 }
    }

    private static func connections(to port: Int) -> Int {
        (Int32(0)..<1024).count { descriptor in
            var peer = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            return result == 0 && peer.sin_family == AF_INET && Int(UInt16(bigEndian: peer.sin_port)) == port
        }
    }

    // MARK: Early data

    // C-32, TLS-9: the request is out before the handshake is over, and its response is there after that
    @Test("a request is sent as early data in a resumed session", arguments: ["GET", "HEAD"])
    func early(method: String) async throws {
        let folder = try TemporaryDirectory()
        setenv("QLOGDIR", folder.path, 1)
        defer { unsetenv("QLOGDIR") }
        let server = try server()
        defer { server.stop() }
        let metrics = TransactionRecorder()
        let session = session(metrics)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            var request = try request(server.port, "/big")
            request.httpMethod = method
            let (data, response) = try await session.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(data.count == (method == "HEAD" ? 0 : 300_000))
            try await untilAlone(server.port)
        }
        let all = try await metrics.transactions.waitFor(count: 3)
        #expect(all.map(\.networkProtocolName) == ["h3", "h3", "h3"])
        #expect(all.map(\.isReusedConnection) == [false, false, false])
        #expect(all.map(\.wasEarly) == [false, true, true])
        for transaction in all {
            let start = try #require(transaction.requestStartDate)
            let end = try #require(transaction.requestEndDate)
            let responseStart = try #require(transaction.responseStartDate)
            let secured = try #require(transaction.secureConnectionEndDate)
            #expect(start <= end && end <= responseStart && secured <= responseStart)
            #expect(transaction.countOfRequestHeaderBytesSent > 0)
            #expect(transaction.countOfResponseBodyBytesReceived >= (method == "HEAD" ? 0 : 300_000))
        }
        try await eventually { Self.packets(in: folder).count(where: Self.isEarly) == 2 }
    }

    /// What the connections to addresses have written down of themselves.
    private static func packets(in folder: TemporaryDirectory) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix("-127.0.0.1.sqlog") }.compactMap {
            FileManager.default.contents(atPath: folder.file($0).path).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private static func isEarly(_ packets: String) -> Bool { packets.contains(#""packet_type":"0RTT""#) }
    private static func hasKeys(_ packets: String) -> Bool { packets.contains(#""packet_type":"1RTT""#) }

    enum Reason: CaseIterable {
        case notEnabled, classicMode, body, method, login, otherSession, flushed
    }

    // C-32, TLS-8, CONN-18
    @Test("requests that must not be sent as early data", arguments: Reason.allCases)
    func late(reason: Reason) async throws {
        let folder = try TemporaryDirectory()
        setenv("QLOGDIR", folder.path, 1)
        defer { unsetenv("QLOGDIR") }
        let server = try server()
        defer { server.stop() }
        let metrics = TransactionRecorder()
        let first = session(metrics, isEarly: reason != .notEnabled, isClassic: reason == .classicMode)
        defer { first.invalidateAndCancel() }
        let second = reason == .otherSession ? session(metrics) : first
        defer { second.invalidateAndCancel() }
        for session in [first, second] {
            var request = try request(server.port, "/small")
            switch reason {
            case .body:
                request.httpMethod = "POST"
                request.httpBody = Data("x".utf8)
            case .method: request.httpMethod = "OPTIONS"
            case .login: request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
            case .notEnabled, .classicMode, .otherSession, .flushed: break
            }
            #expect((try await session.data(for: request).1 as? HTTPURLResponse)?.statusCode == 200)
            try await untilAlone(server.port)
            if reason == .flushed { await session.flush() }
        }
        let all = try await metrics.transactions.waitFor(count: 2)
        #expect(all.map(\.networkProtocolName) == ["h3", "h3"])
        #expect(all.map(\.wasEarly) == [false, false])
        // What is early stands before the first packet with the keys of the handshake.
        try await eventually { Self.packets(in: folder).count(where: Self.hasKeys) == 2 }
        #expect(!Self.packets(in: folder).contains(where: Self.isEarly))
    }

    // C-32: GnuTLS cannot say hello twice with early data, so the second is one of a new handshake
    @Test("a server that wants another hello gets it", .needs(.caddy)) func helloRetryRequest() async throws {
        let folder = try TemporaryDirectory()
        setenv("QLOGDIR", folder.path, 1)
        defer { unsetenv("QLOGDIR") }
        let before = try server()
        defer { before.stop() }
        let metrics = TransactionRecorder()
        let session = session(metrics)
        defer { session.invalidateAndCancel() }
        func load() async throws -> String {
            String(decoding: try await session.data(for: request(before.port, "/small")).0, as: UTF8.self)
        }
        #expect(try await load() == "small")
        try await untilAlone(before.port)
        before.stop()
        let server = try CaddyServer(
            files: ["small": Array("other".utf8)], authority: TrustedAuthority.authority, protocols: ["h1", "h3"],
            curves: ["secp384r1"], port: before.port)
        defer { server.stop() }
        #expect(try await load() == "other")
        let all = try await metrics.transactions.waitFor(count: 2)
        #expect(all.map(\.networkProtocolName) == ["h3", "h3"])
        #expect(all.map(\.wasEarly) == [false, false])
        try await eventually { Self.packets(in: folder).count(where: Self.isEarly) == 1 }
    }

    // CONN-18
    @Test("a connection that is there is used no more after a flush") func flushed() async throws {
        let server = try server(["--timeout=30s"])
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            for _ in 0..<2 { _ = try await session.data(for: request(server.port, "/small")) }
            #expect(Self.connections(to: server.port) == 1)
            await session.flush()
            try await untilAlone(server.port)
            _ = try await session.data(for: request(server.port, "/small"))
            let all = try await metrics.transactions.waitFor(count: 3)
            #expect(all.map(\.networkProtocolName) == ["h3", "h3", "h3"])
            #expect(all.map(\.isReusedConnection) == [false, true, false])
        }
    }

    // AUTH-3: a delegate evaluates resumed connections too, before anything is sent
    @Test("no early data if a delegate evaluates server trust") func asked() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = AskedRecorder()
        let session = session(delegate)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            _ = try await session.data(for: request(server.port, "/small"))
            try await untilAlone(server.port)
        }
        #expect(delegate.questions.events == [1, 1])
        #expect(try await delegate.transactions.waitFor(count: 2).map(\.wasEarly) == [false, false])
    }

    // C-32: without an error
    @Test("rejected early data is sent again after the handshake") func refused() async throws {
        let first = try server()
        let metrics = TransactionRecorder()
        let session = session(metrics)
        defer { session.invalidateAndCancel() }
        _ = try await session.data(for: request(first.port, "/small"))
        try await untilAlone(first.port)
        first.stop()
        // It does not know the key that the tickets were made with.
        let second = try server(port: first.port)
        defer { second.stop() }
        let (data, response) = try await session.data(for: request(second.port, "/small"))
        #expect(String(decoding: data, as: UTF8.self) == "small")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let all = try await metrics.transactions.waitFor(count: 2)
        #expect(all.map(\.networkProtocolName) == ["h3", "h3"])
        #expect(all.map(\.wasEarly) == [false, false])
        // And from then on the new server's.
        try await untilAlone(second.port)
        _ = try await session.data(for: request(second.port, "/small"))
        #expect(try await metrics.transactions.waitFor(count: 3).last?.wasEarly == true)
    }

    // C-32
    @Test("a server that has the address proved first takes early data after that") func validated() async throws {
        let server = try server(Self.shortLives + ["--validate-addr"])
        defer { server.stop() }
        let metrics = TransactionRecorder()
        let session = session(metrics)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            let (data, _) = try await session.data(for: request(server.port, "/small"))
            #expect(String(decoding: data, as: UTF8.self) == "small")
            try await untilAlone(server.port)
        }
        #expect(try await metrics.transactions.waitFor(count: 2).map(\.networkProtocolName) == ["h3", "h3"])
    }

    // C-32: only one of those that wait for a connection goes out early
    @Test("of many that wait for a connection each gets its own answer") func many() async throws {
        let folder = try TemporaryDirectory()
        setenv("QLOGDIR", folder.path, 1)
        defer { unsetenv("QLOGDIR") }
        let server = try server()
        defer { server.stop() }
        let metrics = TransactionRecorder()
        let session = session(metrics)
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            try await withThrowingTaskGroup(of: (Int, Int).self) { group async throws in
                for number in 0..<20 {
                    group.addTask {
                        let isBig = number % 2 == 0
                        let request = try request(server.port, isBig ? "/big" : "/small")
                        return (isBig ? 300_000 : 5, try await session.data(for: request).0.count)
                    }
                }
                for try await (expected, count) in group { #expect(count == expected) }
            }
            try await untilAlone(server.port)
        }
        let all = try await metrics.transactions.waitFor(count: 60)
        #expect(all.count(where: \.wasEarly) == 2)
        #expect(all.count { !$0.isReusedConnection } >= 3)
    }

    // C-32, T-2
    @Test("cancelling early data keeps the connection for other requests") func cancelled() async throws {
        let server = try server()
        defer { server.stop() }
        let session = session(TransactionRecorder())
        defer { session.invalidateAndCancel() }
        for _ in 0..<3 {
            let task = session.dataTask(with: try request(server.port, "/big"))
            task.resume()
            async let other = session.data(for: request(server.port, "/small")).0
            task.cancel()
            #expect(String(decoding: try await other, as: UTF8.self) == "small")
            try await untilAlone(server.port)
        }
    }

    // RFC 8470: no answer to what went out early
    @Test("a request that is too early for the server is sent again", .needs(.aioquic))
    func tooEarly() async throws {
        let server = try TooEarlyServer(TrustedAuthority.authority)
        defer { server.stop() }
        let metrics = TransactionRecorder()
        let session = session(metrics)
        defer { session.invalidateAndCancel() }
        for path in ["/1", "/2"] {
            let (data, response) = try await session.data(for: request(server.port, path))
            #expect(String(decoding: data, as: UTF8.self) == "200")
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            try await untilAlone(server.port)
        }
        #expect(server.requests == ["there", "late /1", "early /2", "late /2"])
        #expect(try await metrics.transactions.waitFor(count: 2).map(\.networkProtocolName) == ["h3", "h3"])
        // It is an answer like any other to what did not.
        let (_, response) = try await session.data(for: request(server.port, "/never"))
        #expect((response as? HTTPURLResponse)?.statusCode == 425)
        #expect(server.requests.suffix(2) == ["early /never", "late /never"])
    }
}

/// Writes down transactions too, and leaves to the session what it is asked about servers. A heir of
/// `TransactionRecorder` would not be asked, since that answers by the protocol's default.
private final class AskedRecorder: NSObject, URLSessionTaskDelegate, Sendable {
    let transactions = EventRecorder<URLSessionTaskTransactionMetrics>()
    let questions = EventRecorder<Int>()

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        questions.record(1)
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        for transaction in metrics.transactionMetrics { transactions.record(transaction) }
    }
}

extension URLSessionTaskTransactionMetrics {
    /// Whether the request was out before the handshake was over.
    fileprivate var wasEarly: Bool {
        guard let start = requestStartDate, let secured = secureConnectionEndDate else { return false }
        return start < secured
    }
}
