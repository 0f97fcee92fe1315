import Foundation
import TestSupport
import Testing
import URLLoading

/// Task metrics over cleartext HTTP/1.1.
@Suite(.leavesNothing) struct TaskMetricsTests {
    /// The metrics of tasks that run one after another in one session.
    private func metrics(
        of requests: [URLRequest], _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> [URLSessionTaskMetrics] {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate, configure)
        for (index, request) in requests.enumerated() {
            session.dataTask(with: request).resume()
            _ = try await delegate.calls(untilCompletions: index + 1)
        }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(delegate.metrics.count == requests.count)
        return delegate.metrics.events
    }

    private func dates(_ transaction: URLSessionTaskTransactionMetrics) -> [Date?] {
        [
            transaction.fetchStartDate, transaction.domainLookupStartDate, transaction.domainLookupEndDate,
            transaction.connectStartDate, transaction.secureConnectionStartDate,
            transaction.secureConnectionEndDate, transaction.connectEndDate, transaction.requestStartDate,
            transaction.requestEndDate, transaction.responseStartDate, transaction.responseEndDate,
        ]
    }

    /// Which dates are set, in the order of `dates`.
    private func present(_ transaction: URLSessionTaskTransactionMetrics) -> String {
        dates(transaction).map { $0 == nil ? "-" : "x" }.joined()
    }

    private func isInOrder(_ transaction: URLSessionTaskTransactionMetrics) -> Bool {
        let known = dates(transaction).compactMap { $0 }
        return known == known.sorted()
    }

    // MET-1 to MET-6, MET-8, MET-9, MET-11, MET-14
    @Test("a new connection to an address") func aNewConnectionToAnAddress() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let before = Date()
        let metrics = try #require(try await metrics(of: [URLRequest(url: server.url())]).first)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(metrics.transactionMetrics.count == 1)
        #expect(metrics.redirectCount == 0)
        #expect(present(transaction) == "x--x--xxxxx")
        #expect(isInOrder(transaction))
        let known = dates(transaction).compactMap { $0 }
        #expect(metrics.taskInterval.start >= before.addingTimeInterval(-0.01))
        #expect(metrics.taskInterval.start <= known[0])
        #expect(metrics.taskInterval.end >= known[known.count - 1])
        #expect(metrics.taskInterval.end <= Date().addingTimeInterval(0.01))
        #expect(transaction.request.url == server.url())
        #expect((transaction.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(transaction.networkProtocolName == "http/1.1")
        #expect(!transaction.isReusedConnection)
        #expect(!transaction.isProxyConnection)
        #expect(transaction.resourceFetchType == .networkLoad)
        #expect(transaction.remoteAddress == "127.0.0.1")
        #expect(transaction.remotePort == server.port)
        #expect(transaction.localAddress == "127.0.0.1")
        #expect(transaction.localPort == server.connections[0].peerPort)
        #expect(transaction.negotiatedTLSProtocolVersion == nil)
        #expect(transaction.negotiatedTLSCipherSuite == nil)
        #expect(
            [transaction.isCellular, transaction.isExpensive, transaction.isConstrained, transaction.isMultipath]
                == [false, false, false, false])
    }

    // MET-11
    @Test("bytes in both directions") func bytesInBothDirections() async throws {
        let server = try ScriptedServer.answering { _ in .text("hello world") }
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data("abc".utf8)
        let transaction = try #require(try await metrics(of: [request]).first?.transactionMetrics.first)
        let received = try #require(server.requests.first)
        #expect(transaction.countOfRequestHeaderBytesSent == Int64(received.head.count))
        #expect(transaction.countOfRequestBodyBytesSent == 3)
        #expect(transaction.countOfRequestBodyBytesBeforeEncoding == 3)
        // The server counts what it has sent when it has sent it.
        try await server.connection(0).waitUntilAccepted(Int(transaction.countOfResponseHeaderBytesReceived) + 11)
        #expect(transaction.countOfResponseHeaderBytesReceived == Int64(server.connections[0].bytesAccepted - 11))
        #expect(transaction.countOfResponseBodyBytesReceived == 11)
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 11)
    }

    // MET-11: framing is of the wire
    @Test("bytes of chunked bodies") func bytesOfChunkedBodies() async throws {
        let server = try ScriptedServer.answering { _ in .chunked(["hello", " world"]) }
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data("abcdef".utf8))
        let transaction = try #require(try await metrics(of: [request]).first?.transactionMetrics.first)
        let received = try #require(server.requests.first)
        #expect(received.bodyText == "abcdef")
        #expect(transaction.countOfRequestHeaderBytesSent == Int64(received.head.count))
        #expect(transaction.countOfRequestBodyBytesSent == Int64(received.rawBody.count))
        #expect(transaction.countOfRequestBodyBytesBeforeEncoding == 6)
        let bodyOnWire = "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n".utf8.count
        #expect(transaction.countOfResponseBodyBytesReceived == Int64(bodyOnWire))
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 11)
    }

    // MET-2, MET-3, MET-13
    @Test("a name is looked up") func aNameIsLookedUp() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let url = server.url("/", host: "localhost")
        let metrics = try await metrics(of: [URLRequest(url: url), URLRequest(url: url)])
        let transactions = metrics.compactMap(\.transactionMetrics.first)
        #expect(transactions.map(present) == ["xxxx--xxxxx", "x------xxxx"])
        #expect(transactions.map(isInOrder) == [true, true])
        #expect(transactions.map(\.isReusedConnection) == [false, true])
        #expect(transactions.map(\.localPort) == Array(repeating: server.connections[0].peerPort, count: 2))
    }

    // MET-4, MET-16
    @Test("a refused connection") func aRefusedConnection() async throws {
        let refusing = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(refusing.port)/"))
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: url)]).first?.transactionMetrics.first)
        #expect(present(transaction) == "x--x-------")
        #expect(transaction.response == nil)
        #expect(transaction.remoteAddress == nil)
        #expect(transaction.remotePort == nil)
    }

    // CONN-20, C-12: DNSSEC cannot be validated, so there are no queries
    @Test("a name that has to be proved", arguments: [true, false]) func aNameThatHasToBeProved(
        bySession: Bool
    ) async throws {
        let server = try ScriptedServer.answering {
            $0.path == "/" ? .text("x") : .redirect(to: "http://name.invalid/")
        }
        defer { server.stop() }
        let urls = [
            try #require(URL(string: "http://name.invalid/")), server.url("/away"), server.url(host: "localhost"),
        ]
        let requests = urls.map { url in
            var request = URLRequest(url: url)
            request.requiresDNSSECValidation = !bySession
            return request
        }
        let metrics = try await metrics(of: requests) { $0.requiresDNSSECValidation = bySession }
        let last = metrics.compactMap(\.transactionMetrics.last)
        #expect(last.map(present) == ["x----------", "x----------", "xxxx--xxxxx"])
        #expect(last.map { $0.response == nil } == [true, true, false])
    }

    // MET-4, MET-16
    @Test("no response in time") func noResponseInTime() async throws {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: never))
        defer { server.stop() }
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: server.url())]) { $0.timeoutIntervalForRequest = 0.1 }.first?
                .transactionMetrics.first)
        #expect(present(transaction) == "x--x--xxx--")
        #expect(transaction.response == nil)
        #expect(transaction.remotePort == server.port)
    }

    // MET-4, MET-16
    @Test("a body cut short") func aBodyCutShort() async throws {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .close,
        ])
        defer { server.stop() }
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: server.url())]).first?.transactionMetrics.first)
        #expect(present(transaction) == "x--x--xxxx-")
        #expect(isInOrder(transaction))
        #expect(transaction.response == nil)
    }

    // T-39, MET-16: what never ran has made no request
    @Test("a task that is cancelled before it ran") func cancelledBeforeItRan() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: try #require(URL(string: "http://127.0.0.1:1/"))).cancel()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let metrics = try #require(delegate.metrics.events.first)
        #expect(metrics.transactionMetrics.isEmpty)
        #expect(metrics.redirectCount == 0)
        #expect(metrics.taskInterval.duration >= 0)
    }

    // MET-16: cancelled tasks have metrics too
    @Test("a cancelled task") func aCancelledTask() async throws {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: never))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        try await server.waitForRequests(1)
        task.cancel()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let transaction = try #require(delegate.metrics.events.first?.transactionMetrics.first)
        #expect(present(transaction) == "x--x--xxx--")
        #expect(delegate.metrics.count == 1)
    }

    // MET-1, CONN-10: a request that was sent again is two transactions
    @Test("a request that is repeated") func aRequestThatIsRepeated() async throws {
        let server = try ScriptedServer(connections: [
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"), .expectRequest, .close],
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"), .waitForClose],
        ])
        defer { server.stop() }
        let requests = ["/1", "/2"].map { URLRequest(url: server.url($0)) }
        let metrics = try #require(try await metrics(of: requests).last)
        #expect(metrics.transactionMetrics.map(present) == ["x------xx--", "x--x--xxxxx"])
        #expect(metrics.transactionMetrics.map(\.request.url) == [server.url("/2"), server.url("/2")])
        #expect(metrics.transactionMetrics.map(\.isReusedConnection) == [true, false])
        #expect(metrics.transactionMetrics.map { $0.response == nil } == [true, false])
        #expect(metrics.redirectCount == 0)
    }

    // MET-2: in the line for a connection
    @Test("waiting in line is between the fetch and the connection")
    func waitingInLineIsBetweenTheFetchAndTheConnection() async throws {
        let held = Signal("the first response")
        let server = try ScriptedServer.answering { request in
            request.path == "/first" ? CannedResponse.text("x").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        try await server.waitForRequests(1)
        session.dataTask(with: server.url("/second")).resume()
        held.fire()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let second = try #require(delegate.metrics.events.last?.transactionMetrics.first)
        #expect(present(second) == "x------xxxx")
        #expect(isInOrder(second))
        #expect(second.isReusedConnection)
    }

    // MET-2: a load that takes over the connection of one that was cancelled has not begun before itself
    @Test("a connection that was begun for another task") func aConnectionThatWasBegunForAnotherTask() async throws {
        // It accepts, and says nothing to a handshake.
        let server = try ScriptedServer(steps: [.stopReading])
        defer { server.stop() }
        let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        let first = session.dataTask(with: url)
        first.resume()
        _ = try await server.connection(0)
        let second = session.dataTask(with: url)
        second.resume()
        first.cancel()
        second.cancel()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let metrics = try #require(delegate.metrics.events.last)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(present(transaction).hasPrefix("x--x"))
        #expect(isInOrder(transaction))
        #expect(metrics.taskInterval.start <= metrics.taskInterval.end)
        #expect(server.connectionCount == 1)
    }

    // MET-11: what was on the wire counts also when more should have come
    @Test("bytes of a body cut short") func bytesOfABodyCutShort() async throws {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .close,
        ])
        defer { server.stop() }
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: server.url())]).first?.transactionMetrics.first)
        #expect(transaction.countOfResponseBodyBytesReceived == 5)
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 5)
    }

    // MET-11
    @Test("bytes of an upload cut short") func bytesOfAnUploadCutShort() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            _ = try connection.receive(exactly: 100_000)
            connection.reset()
        }
        defer { server.stop() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data(count: 32 << 20)
        let transaction = try #require(try await metrics(of: [request]).first?.transactionMetrics.first)
        #expect(transaction.countOfRequestBodyBytesSent >= 100_000)
        #expect(transaction.countOfRequestBodyBytesSent < 32 << 20)
        #expect(transaction.countOfRequestBodyBytesBeforeEncoding == transaction.countOfRequestBodyBytesSent)
    }

    // MET-1, MET-17, MET-11: each hop is a transaction of its own
    @Test("redirects", arguments: [true, false]) func redirects(asks: Bool) async throws {
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/1": CannedResponse.text("moved", status: 301).with(field: "Location", "/2")
            case "/2": .redirect(to: "/3", status: 307)
            default: .text("hello")
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let own = MetricsDelegate()
        let session = URLSession(asks ? delegate : own)
        session.dataTask(with: server.url("/1")).resume()
        session.finishTasksAndInvalidate()
        let metrics = try #require(
            try await (asks ? delegate.metrics : own.metrics).waitFor(count: 1).first)
        #expect(metrics.redirectCount == 2)
        let transactions = metrics.transactionMetrics
        #expect(transactions.map(\.request.url) == ["/1", "/2", "/3"].map { server.url($0) })
        #expect(transactions.map { ($0.response as? HTTPURLResponse)?.statusCode } == [301, 307, 200])
        #expect(transactions.map(present) == ["x--x--xxxxx", "x------xxxx", "x------xxxx"])
        #expect(transactions.map(isInOrder) == [true, true, true])
        #expect(transactions.map(\.isReusedConnection) == [false, true, true])
        #expect(transactions.map(\.countOfResponseBodyBytesReceived) == [5, 0, 5])
        // The body of a redirect was not delivered.
        #expect(transactions.map(\.countOfResponseBodyBytesAfterDecoding) == [0, 0, 5])
        let known = transactions.flatMap(dates).compactMap { $0 }
        #expect(known == known.sorted())
    }

    // MET-16, MET-1: a redirect that ends the task
    @Test("a redirect to a port that refuses") func aRedirectToARefusingPort() async throws {
        let refusing = try RefusingPort()
        let server = try ScriptedServer.answering(.redirect(to: "http://127.0.0.1:\(refusing.port)/"))
        defer { server.stop() }
        let metrics = try #require(try await metrics(of: [URLRequest(url: server.url())]).first)
        #expect(metrics.redirectCount == 1)
        #expect(metrics.transactionMetrics.map(present) == ["x--x--xxxxx", "x--x-------"])
        #expect(metrics.transactionMetrics.map { $0.response == nil } == [false, true])
    }

    // MET-10: nothing is offered that has no name
    @Test("negotiated TLS parameters", arguments: [tls_protocol_version_t.TLSv10, .TLSv12])
    func cipherSuites(minimum: tls_protocol_version_t) async throws {
        // A server that has a choice takes what has none of its keys on a curve.
        let options = try TrustedAuthority.server(.localhost.with { $0.key = .rsa(bits: 2048) }).with {
            $0.maximumVersion = .tls12
            $0.ciphers = "DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
        }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("hello") }
        defer { server.stop() }
        let metrics = try await metrics(of: [URLRequest(url: server.url(host: "localhost"))]) {
            $0.tlsMinimumSupportedProtocolVersion = minimum
        }
        let transaction = try #require(metrics.first?.transactionMetrics.first)
        #expect(transaction.negotiatedTLSCipherSuite == .ECDHE_RSA_WITH_AES_128_GCM_SHA256)
        // The last says that renegotiations are known to be dangerous.
        let offered = try #require(server.connections.first?.clientHello?.cipherSuites).filter { $0 != 0x00FF }
        #expect(offered.count > 3)
        #expect(offered.filter { tls_ciphersuite_t(rawValue: UInt16($0)) == nil } == [])
    }

    // S-98, MET-2, MET-5, MET-7, MET-10
    @Test("over TLS", arguments: [(TLSServerOptions.Version.tls12, tls_protocol_version_t.TLSv12), (.tls13, .TLSv13)])
    func overTLS(version: TLSServerOptions.Version, negotiated: tls_protocol_version_t) async throws {
        let options = try TrustedAuthority.server().with {
            $0.minimumVersion = version
            $0.maximumVersion = version
            $0.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"
        }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("hello") }
        defer { server.stop() }
        let url = server.url(host: "localhost")
        let metrics = try await metrics(of: [URLRequest(url: url), URLRequest(url: url)])
        let transactions = metrics.compactMap(\.transactionMetrics.first)
        #expect(transactions.map(present) == ["xxxxxxxxxxx", "x------xxxx"])
        #expect(transactions.map(isInOrder) == [true, true])
        // A connection is not made before its TLS is.
        #expect(transactions[0].connectEndDate == transactions[0].secureConnectionEndDate)
        #expect(transactions.map(\.negotiatedTLSProtocolVersion) == [negotiated, negotiated])
        let cipher: tls_ciphersuite_t =
            version == .tls12 ? .ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 : .AES_256_GCM_SHA384
        #expect(transactions.map(\.negotiatedTLSCipherSuite) == [cipher, cipher])
        #expect(transactions.map(\.networkProtocolName) == ["http/1.1", "http/1.1"])
        // Of HTTP, not of TLS's records.
        #expect(transactions.map(\.countOfResponseBodyBytesReceived) == [5, 5])
    }

    // MET-4, MET-5, MET-16
    @Test("a handshake that fails") func aHandshakeThatFails() async throws {
        _ = try TrustedAuthority.authority
        let server = try ScriptedServer.answering(tls: TLSServerOptions(authority: TestCertificateAuthority())) { _ in
            .text("never")
        }
        defer { server.stop() }
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: server.url())]).first?.transactionMetrics.first)
        #expect(present(transaction) == "x--xx------")
        #expect(transaction.response == nil)
        #expect(transaction.negotiatedTLSProtocolVersion == nil)
    }

    // MET-7
    @Test("a server of HTTP 1.0") func aServerOfHTTP10() async throws {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"), .close,
        ])
        defer { server.stop() }
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: server.url())]).first?.transactionMetrics.first)
        #expect(transaction.networkProtocolName == "http/1.0")
    }

    // MET-11, ENC-7
    @Test("bytes of a coded body") func bytesOfACodedBody() async throws {
        let coded = CodedBodies.gzip(String(repeating: "hello ", count: 1_000))
        let server = try ScriptedServer.answering(CannedResponse.bytes(coded).with(field: "Content-Encoding", "gzip"))
        defer { server.stop() }
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: server.url())]).first?.transactionMetrics.first)
        #expect(transaction.countOfResponseBodyBytesReceived == Int64(coded.count))
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 6_000)
    }

    // MET-12, MET-13
    @Test("unknown network properties") func unknownNetworkProperties() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let transaction = try #require(
            try await metrics(of: [URLRequest(url: server.url())]).first?.transactionMetrics.first)
        #expect(
            [transaction.isCellular, transaction.isExpensive, transaction.isConstrained, transaction.isMultipath]
                == [false, false, false, false])
        #expect(transaction.domainResolutionProtocol == .unknown)
    }

    // T-39
    @Test("metrics come before the end of an async call", arguments: [true, false])
    func beforeAsyncEnds(isSequence: Bool) async throws {
        let server = try ScriptedServer.answering { _ in .text("abc") }
        defer { server.stop() }
        try await URLSession.using { session in
            for _ in 0..<50 {
                let delegate = MetricsDelegate()
                let request = URLRequest(url: server.url())
                if isSequence {
                    let (bytes, _) = try await session.bytes(for: request, delegate: delegate)
                    for try await _ in bytes {}
                } else {
                    _ = try await session.data(for: request, delegate: delegate)
                }
                #expect(delegate.metrics.count == 1)
            }
        }
    }
}

/// Implements only the metrics callback, so redirects are followed by default.
private final class MetricsDelegate: NSObject, URLSessionTaskDelegate {
    let metrics = EventRecorder<URLSessionTaskMetrics>()

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.record(metrics)
    }
}
