import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/3 against gtlsserver.
@Suite(.needsHTTP3, .needs(.gtlsserver)) struct HTTP3Tests {
    private static let big = [UInt8].pattern(count: 8_000_000)

    private func request(_ server: GtlsServer, _ path: String) throws -> URLRequest {
        try request(server.port, path)
    }

    private func request(_ port: Int, _ path: String) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(port)\(path)")))
        request.assumesHTTP3Capable = true
        return request
    }

    private func server() throws -> GtlsServer {
        try GtlsServer(
            files: ["small": Array("small".utf8), "big": Self.big], authority: TrustedAuthority.authority)
    }

    // S-7, CONN-7, MET-7, MET-10
    @Test("a server that is assumed to support HTTP/3 is asked over it") func assumed() async throws {
        let server = try server()
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            let (data, response) = try await session.data(for: request(server, "/small"))
            #expect(String(decoding: data, as: UTF8.self) == "small")
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            let first = try #require(try await metrics.transactions.waitFor(count: 1).first)
            #expect(first.networkProtocolName == "h3")
            #expect(first.negotiatedTLSProtocolVersion == .TLSv13)
            #expect(first.negotiatedTLSCipherSuite != nil)
            #expect(!first.isReusedConnection)
            #expect(first.remotePort == server.port)
            let dates = [
                first.fetchStartDate, first.connectStartDate, first.secureConnectionStartDate,
                first.secureConnectionEndDate, first.connectEndDate, first.requestStartDate,
                first.responseStartDate,
                first.responseEndDate,
            ].compactMap(\.self)
            #expect(dates.count == 8)
            #expect(dates == dates.sorted())
            // The next goes over the same connection.
            _ = try await session.data(for: request(server, "/small"))
            let second = try #require(try await metrics.transactions.waitFor(count: 2).last)
            #expect(second.networkProtocolName == "h3")
            #expect(second.isReusedConnection)
        }
    }

    // CONN-19: RFC 9000 10.1.2: a connection that is in use is not idle, however long the server takes
    @Test("a response that takes longer than the server's idle timeout", .needs(.aioquic)) func late() async throws {
        let files = ["small": Array("small".utf8)]
        let server = try AioquicServer(files: files, authority: TrustedAuthority.authority, idleTimeout: 1)
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            var request = URLRequest(url: server.secureURL("/late"))
            request.assumesHTTP3Capable = true
            let (data, _) = try await session.data(for: request)
            #expect(data == Data("small".utf8))
            #expect(try await metrics.transactions.waitFor(count: 1).map(\.networkProtocolName) == ["h3"])
        }
    }

    // CONN-10: a server forgets an idle connection without a notice (RFC 9000 10.1), so a POST is not sent on one whose
    // idle timeout is almost over
    @Test("a POST after most of the server's idle timeout, and one before", .needs(.aioquic))
    func almostForgotten() async throws {
        let server = try AioquicServer(
            files: ["small": Array("small".utf8)], authority: TrustedAuthority.authority, idleTimeout: 6)
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            var get = URLRequest(url: server.secureURL("/small"))
            get.assumesHTTP3Capable = true
            _ = try await session.data(for: get)
            var post = get
            post.httpMethod = "POST"
            post.httpBody = Data("body".utf8)
            let (_, soon) = try await session.data(for: post)
            // The time is what is tested: two thirds of six seconds, and not all of them.
            try await Task.sleep(for: .milliseconds(4600))
            let (_, late) = try await session.data(for: post)
            #expect([soon, late].map { ($0 as? HTTPURLResponse)?.statusCode } == [200, 200])
            let transactions = try await metrics.transactions.waitFor(count: 3)
            #expect(transactions.map(\.networkProtocolName) == ["h3", "h3", "h3"])
            #expect(transactions.map(\.isReusedConnection) == [false, true, false])
        }
    }

    // T-19, MISC-26: RFC 9218
    @Test("a request has a priority field", .needs(.aioquic)) func priority() async throws {
        let server = try AioquicServer(files: ["small": Array("small".utf8)], authority: TrustedAuthority.authority)
        defer { server.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            var said: [String] = []
            for priority in [
                URLSessionTask.highPriority, URLSessionTask.defaultPriority, URLSessionTask.lowPriority,
            ] {
                var request = URLRequest(url: server.secureURL("/priority"))
                request.assumesHTTP3Capable = true
                let data = try await withCheckedThrowingContinuation { continuation in
                    let task = session.dataTask(with: request) { data, _, error in
                        continuation.resume(with: error.map { .failure($0) } ?? .success(data ?? Data()))
                    }
                    task.priority = priority
                    task.resume()
                }
                said.append(String(decoding: data, as: UTF8.self))
            }
            #expect(said == ["u=1", "none", "u=5"])
        }
    }

    // CONN-22
    @Test("a large body is complete, also with many concurrent requests") func large() async throws {
        let server = try server()
        defer { server.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            #expect(Array(try await session.data(for: request(server, "/big")).0) == Self.big)
            try await withThrowingTaskGroup(of: Int.self) { group async throws in
                for number in 0..<100 {
                    group.addTask {
                        try await session.data(for: request(server, number % 10 == 0 ? "/big" : "/small")).0.count
                    }
                }
                let total = try await group.reduce(0, +)
                #expect(total == 10 * Self.big.count + 90 * 5)
            }
        }
    }

    // MET-10
    @Test("a large body is posted, and answered") func posted() async throws {
        let server = try server()
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            var post = try request(server, "/small")
            post.httpMethod = "POST"
            let (_, response) = try await session.upload(for: post, from: Data(Self.big))
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            let transaction = try #require(try await metrics.transactions.waitFor(count: 1).first)
            #expect(transaction.countOfRequestBodyBytesBeforeEncoding == Self.big.count)
            // Frames have heads.
            #expect(transaction.countOfRequestBodyBytesSent > Self.big.count)
        }
    }

    // CONN-6: an untrusted HTTP/3 server is not used
    @Test("the delegate does not trust the place that was named", arguments: ["http/1.1", "h2"])
    func refusedAlternative(version: String) async throws {
        let quic = try GtlsServer(files: ["small": Array("small".utf8)], authority: TestCertificateAuthority())
        defer { quic.stop() }
        let tcp = try ScriptedServer.naming(quic.port, over: version, keepsAlive: false)
        defer { tcp.stop() }
        let delegate = TrustingDelegate(false, otherwise: .performDefaultHandling)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        // Closed after each response, HTTP/1.1 has no connection to go back to; HTTP/2 has.
        for number in 0..<3 {
            let (data, _) = try await session.data(from: tcp.url("/small"))
            #expect(String(decoding: data, as: UTF8.self) == (version == "h2" ? "0" : "\(number)"))
        }
        // Twice, since it was asked over QUIC once; and HTTP/1.1 at each of its own.
        #expect(delegate.hosts.events.count == (version == "h2" ? 2 : 4))
    }

    // C-19
    @Test("there is no HTTP/3 without TLS 1.3") func maximumVersion() async throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { .text($0.target) }
        defer { server.stop() }
        let datagrams = try SilentDatagramPort(server.port)
        defer { datagrams.close() }
        for maximum in [tls_protocol_version_t.TLSv12, .TLSv13] {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.tlsMaximumSupportedProtocolVersion = maximum
            let session = URLSession(configuration: configuration)
            defer { session.invalidateAndCancel() }
            _ = try await session.data(for: request(server.port, "/"))
            #expect(datagrams.hasReceived == (maximum == .TLSv13))
        }
    }

    // CONN-6: fall back when QUIC fails
    @Test("a server that is unreachable over QUIC is reached over TCP") func fallback() async throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { .text($0.target) }
        defer { server.stop() }
        let datagrams = try SilentDatagramPort(server.port)
        defer { datagrams.close() }
        try await TransactionRecorder.record { session, metrics async throws in
            for path in ["/1", "/2"] {
                var request = URLRequest(url: server.url(path))
                request.assumesHTTP3Capable = true
                #expect(String(decoding: try await session.data(for: request).0, as: UTF8.self) == path)
            }
            #expect(
                try await metrics.transactions.waitFor(count: 2).map(\.networkProtocolName) == [
                    "http/1.1", "http/1.1",
                ])
        }
        #expect(server.connectionCount == 1)
        #expect(datagrams.hasReceived)
    }

    // CONN-12: the error of TCP does not wait for QUIC's, which would be ten seconds
    @Test("a server that is not there at all") func refusedByAll() async throws {
        let refusing = try RefusingPort()
        let datagrams = try SilentDatagramPort(refusing.port)
        defer { datagrams.close() }
        try await TransactionRecorder.record { session, _ async throws in
            let start = ContinuousClock.now
            let error = await #expect(throws: URLError.self) {
                try await session.data(for: request(refusing.port, "/"))
            }
            #expect(error?.code == .cannotConnectToHost)
            #expect(ContinuousClock.now - start < .seconds(8))
        }
        #expect(datagrams.hasReceived)
    }

    // CONN-6: what a response says counts for what comes next
    @Test("an advertised HTTP/3 service is used") func alternative() async throws {
        let quic = try server()
        defer { quic.stop() }
        let tcp = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in
            var response = CannedResponse.text("over TCP")
            response.fields = [.init("Alt-Svc", "h3=\":\(quic.port)\"; ma=60")]
            response.keepsAlive = false
            return response
        }
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            #expect(
                String(decoding: try await session.data(from: tcp.url("/small")).0, as: UTF8.self) == "over TCP")
            #expect(String(decoding: try await session.data(from: tcp.url("/small")).0, as: UTF8.self) == "small")
            #expect(
                try await metrics.transactions.waitFor(count: 2).map(\.networkProtocolName) == ["http/1.1", "h3"])
        }
    }

    // AUTH-3: one decision for TLS over TCP and over QUIC
    @Test("a server that is not trusted over TCP is not trusted over QUIC", arguments: [false, true])
    func untrusted(isTrustedByDelegate: Bool) async throws {
        let server = try GtlsServer(
            files: ["small": Array("small".utf8)], authority: TestCertificateAuthority())
        defer { server.stop() }
        let delegate = TrustingDelegate(isTrustedByDelegate)
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        if isTrustedByDelegate {
            #expect(
                String(decoding: try await session.data(for: request(server, "/small")).0, as: UTF8.self) == "small"
            )
        } else {
            await #expect(throws: URLError.self) { try await session.data(for: request(server, "/small")) }
        }
        #expect(delegate.hosts.events == ["127.0.0.1"])
    }

    // T-2, CONN-22
    @Test("cancelling one leaves the others") func cancelled() async throws {
        let server = try server()
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            let task = session.dataTask(with: try request(server, "/big"))
            task.resume()
            async let other = session.data(for: request(server, "/big")).0.count
            task.cancel()
            #expect(try await other == Self.big.count)
            #expect(try await session.data(for: request(server, "/small")).0.count == 5)
            #expect(
                try await metrics.transactions.waitUntil("h3") { $0.contains { $0.networkProtocolName == "h3" } }
                    .isEmpty == false)
        }
    }
}

/// Accepts every server, or uses default handling, and records the hosts.
final class TrustingDelegate: NSObject, URLSessionDelegate, @unchecked Sendable {
    // Sendable: the recorder guards itself, the rest is constant.
    let hosts = EventRecorder<String>()
    private let trusts: Bool
    private let otherwise: URLSession.AuthChallengeDisposition

    init(
        _ trusts: Bool, otherwise: URLSession.AuthChallengeDisposition = .cancelAuthenticationChallenge
    ) {
        self.trusts = trusts
        self.otherwise = otherwise
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        hosts.record(challenge.protectionSpace.host)
        guard trusts, let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(otherwise, nil)
        }
        completionHandler(.useCredential, URLCredential(trust: trust))
    }
}
