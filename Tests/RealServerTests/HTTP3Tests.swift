#if HTTP3
    import Foundation
    import TestSupport
    import Testing
    import URLLoading

    /// HTTP/3 against a server of another make.
    @Suite(.needs(.gtlsserver)) struct HTTP3Tests {
        private static let big = [UInt8].pattern(count: 8_000_000)

        private func using<Result>(_ body: (URLSession, MetricsDelegate) async throws -> Result) async throws -> Result
        {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.timeoutIntervalForRequest = 20
            let delegate = MetricsDelegate()
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            return try await body(session, delegate)
        }

        private func request(_ server: GtlsServer, _ path: String) throws -> URLRequest {
            var request = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(server.port)\(path)")))
            request.assumesHTTP3Capable = true
            return request
        }

        private func server() throws -> GtlsServer {
            try GtlsServer(
                files: ["small": Array("small".utf8), "big": Self.big], authority: TrustedAuthority.authority)
        }

        // S-7, CONN-7, MET-7, MET-10
        @Test("a server that is assumed to speak HTTP/3 is asked over it") func assumed() async throws {
            let server = try server()
            defer { server.stop() }
            try await using { session, metrics async throws in
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

        // CONN-22
        @Test("a large body comes whole, and many at once") func large() async throws {
            let server = try server()
            defer { server.stop() }
            try await using { session, _ async throws in
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

        @Test("a large body is posted, and answered") func posted() async throws {
            let server = try server()
            defer { server.stop() }
            try await using { session, _ async throws in
                var post = try request(server, "/small")
                post.httpMethod = "POST"
                let (_, response) = try await session.upload(for: post, from: Data(Self.big))
                #expect((response as? HTTPURLResponse)?.statusCode == 200)
            }
        }

        // CONN-6: fall back when QUIC fails
        @Test("a server that nobody reaches by QUIC is reached by TCP") func fallback() async throws {
            let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { .text($0.target) }
            defer { server.stop() }
            try await using { session, metrics async throws in
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
        }

        // CONN-6: what a response says counts for what comes next
        @Test("a server that says where it speaks HTTP/3 is asked there") func alternative() async throws {
            let quic = try server()
            defer { quic.stop() }
            let tcp = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in
                var response = CannedResponse.text("over TCP")
                response.fields = [.init("Alt-Svc", "h3=\":\(quic.port)\"; ma=60")]
                response.keepsAlive = false
                return response
            }
            defer { tcp.stop() }
            try await using { session, metrics async throws in
                #expect(
                    String(decoding: try await session.data(from: tcp.url("/small")).0, as: UTF8.self) == "over TCP")
                #expect(String(decoding: try await session.data(from: tcp.url("/small")).0, as: UTF8.self) == "small")
                #expect(
                    try await metrics.transactions.waitFor(count: 2).map(\.networkProtocolName) == ["http/1.1", "h3"])
            }
        }

        // AUTH-3: one decision for both ways to speak TLS
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
            try await using { session, metrics async throws in
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

    /// The transactions of all tasks, in the order of their ends.
    private final class MetricsDelegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
        // Sendable: the recorder guards itself.
        let transactions = EventRecorder<URLSessionTaskTransactionMetrics>()

        func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
        {
            for transaction in metrics.transactionMetrics { transactions.record(transaction) }
        }
    }

    /// Trusts whoever it is, or leaves that to the session; and writes down who that was.
    private final class TrustingDelegate: NSObject, URLSessionDelegate, @unchecked Sendable {
        // Sendable: the recorder guards itself, the rest is constant.
        let hosts = EventRecorder<String>()
        private let trusts: Bool

        init(_ trusts: Bool) { self.trusts = trusts }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            hosts.record(challenge.protectionSpace.host)
            guard trusts, let trust = challenge.protectionSpace.serverTrust else {
                return completionHandler(.cancelAuthenticationChallenge, nil)
            }
            completionHandler(.useCredential, URLCredential(trust: trust))
        }
    }
#endif
