import Foundation
import TestSupport
import Testing
import URLLoading

/// Connections when the route to their server changes. Each test has two connected network namespaces, with the
/// sessions in one and the servers in the other.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .timeLimit(.minutes(1))) struct RouteTests {
    enum Version: CaseIterable {
        case http1
        case http2
    }

    enum Loss: CaseIterable {
        case interfaceDown
        case addressGone

        func happen() throws {
            switch self {
            case .interfaceDown: try NetworkNamespace.ip("link", "set", "near", "down")
            case .addressGone: try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
            }
        }

        func end() throws {
            switch self {
            case .interfaceDown: try NetworkNamespace.ip("link", "set", "near", "up")
            case .addressGone: try NetworkNamespace.ip("address", "add", "10.0.0.3/24", "dev", "near")
            }
        }

        /// The local address before and after the change.
        var addresses: [String] { self == .interfaceDown ? ["10.0.0.1", "10.0.0.1"] : ["10.0.0.1", "10.0.0.3"] }
    }

    /// Responds with the numbers of the connection and of the request on it. The second response on the first
    /// connection is truncated to one half, or `withheld`.
    private func server(
        _ version: Version, in far: RemoteNetwork, withheld: Signal? = nil
    ) throws -> ScriptedServer {
        let profile = CertificateProfile.server(CertificateProfile.Name(RemoteNetwork.address), "both.example")
        let tls = try TrustedAuthority.server(profile).with {
            $0.applicationProtocols = version == .http2 ? ["h2"] : ["http/1.1"]
        }
        return try far.perform {
            try ScriptedServer(.everywhere, tls: tls) { connection in
                do {
                    let http2 = version == .http2 ? try HTTP2ServerConnection(connection) : nil
                    for number in 0... {
                        let text = "\(connection.index).\(number)"
                        let isHalf = text == "0.1"
                        if let http2 {
                            let stream = try http2.readRequest()
                            if isHalf, let withheld { return try Self.sayNothing(connection, withheld) }
                            try http2.sendHead(on: stream, fields: [("content-length", "3")])
                            try http2.sendBody(Array(text.utf8.prefix(isHalf ? 2 : 3)), on: stream, ends: !isHalf)
                        } else {
                            _ = try connection.readRequest()
                            if isHalf, let withheld { return try Self.sayNothing(connection, withheld) }
                            let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
                            try connection.send(head + text.prefix(isHalf ? 2 : 3))
                        }
                    }
                } catch  where connection.record.end != nil {
                    return
                }
            }
        }
    }

    private static func sayNothing(_ connection: ServerConnection, _ recorded: Signal) throws {
        recorded.fire()
        try connection.waitForClose()
    }

    private func using<Result>(
        _ delegate: RecordingDelegate, _ configure: (URLSessionConfiguration) -> Void = { _ in },
        _ body: (URLSession) async throws -> Result
    ) async throws -> Result {
        let session = URLSession(delegate) {
            $0.urlCache = nil
            configure($0)
        }
        defer { session.invalidateAndCancel() }
        return try await body(session)
    }

    private func text(_ session: URLSession, _ url: URL, method: String = "GET") async throws -> String {
        var request = URLRequest(url: url)
        request.httpMethod = method
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    private func transactions(
        _ delegate: RecordingDelegate, count: Int
    ) async throws -> [URLSessionTaskTransactionMetrics] {
        try await delegate.metrics.waitFor(count: count).flatMap(\.transactionMetrics)
    }

    // CONN-10, S-8, MET-7: not even a request that must not be sent twice is lost on it
    @Test("an idle connection that has lost its route is not used", arguments: Version.allCases, Loss.allCases)
    func idle(version: Version, loss: Loss) async throws {
        let far = try RemoteNetwork()
        let server = try server(version, in: far)
        defer { server.stop() }
        let url = server.url("/", host: RemoteNetwork.address)
        let delegate = RecordingDelegate()
        try await using(delegate) { session async throws in
            #expect(try await text(session, url) == "0.0")
            try loss.happen()
            try await eventually { !Loopback.hasConnection(to: server.port) }
            try loss.end()
            #expect(try await text(session, url, method: "POST") == "1.0")
            let transactions = try await transactions(delegate, count: 2)
            #expect(transactions.map(\.localAddress) == loss.addresses)
            #expect(transactions.map(\.isReusedConnection) == [false, false])
            #expect(transactions.map(\.remoteAddress) == [RemoteNetwork.address, RemoteNetwork.address])
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-11, MET-7: at once, and not when the request times out
    @Test("a running load fails when its route is lost", arguments: Version.allCases, Loss.allCases)
    func busy(version: Version, loss: Loss) async throws {
        let far = try RemoteNetwork()
        let server = try server(version, in: far)
        defer { server.stop() }
        let url = server.url("/", host: RemoteNetwork.address)
        let delegate = RecordingDelegate()
        try await using(delegate) { session async throws in
            #expect(try await text(session, url) == "0.0")
            let (bytes, _) = try await session.bytes(from: url)
            var iterator = bytes.makeAsyncIterator()
            #expect(try await iterator.next() == UInt8(ascii: "0"))
            let start = ContinuousClock.now
            try loss.happen()
            let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
            #expect(error?.code == .networkConnectionLost)
            #expect(ContinuousClock.now - start < .seconds(10))
            try loss.end()
            #expect(try await text(session, url) == "1.0")
            let transactions = try await transactions(delegate, count: 3)
            #expect(transactions.map(\.isReusedConnection) == [false, true, false])
            #expect(transactions.map(\.localAddress) == [loss.addresses[0]] + loss.addresses)
            #expect(transactions.map { $0.responseStartDate != nil } == [true, true, true])
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-11: it was sent, and may have been seen; only a load that has not begun waits for a network
    @Test(
        "a request that is lost with its route does not wait for another route", arguments: Version.allCases,
        [false, true])
    func lostRequest(version: Version, waits: Bool) async throws {
        let far = try RemoteNetwork()
        let recorded = Signal("the second request")
        let server = try server(version, in: far, withheld: recorded)
        defer { server.stop() }
        let url = server.url("/", host: RemoteNetwork.address)
        let delegate = RecordingDelegate()
        try await using(delegate, { $0.waitsForConnectivity = waits }) { session async throws in
            #expect(try await text(session, url) == "0.0")
            session.dataTask(with: url).resume()
            try await recorded.wait()
            try Loss.interfaceDown.happen()
            let calls = try await delegate.calls(untilCompletions: 1).of(2)
            #expect(calls == [.created(2), .metrics(2), .completed(2, .networkConnectionLost)])
            // A new request has no route.
            if !waits {
                let error = await #expect(throws: URLError.self) { try await text(session, url) }
                #expect(error?.code == .notConnectedToInternet)
            }
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-14, T-27
    @Test("a waiting load continues when the interface is up", arguments: Version.allCases)
    func waiting(version: Version) async throws {
        let far = try RemoteNetwork()
        let server = try server(version, in: far)
        defer { server.stop() }
        let url = server.url("/", host: RemoteNetwork.address)
        let delegate = RecordingDelegate()
        try await using(delegate, { $0.waitsForConnectivity = true }) { session async throws in
            #expect(try await text(session, url) == "0.0")
            try Loss.interfaceDown.happen()
            try await eventually { !Loopback.hasConnection(to: server.port) }
            session.dataTask(with: url).resume()
            try await delegate.calls.wait(for: .waiting(2))
            try Loss.interfaceDown.end()
            #expect(
                try await delegate.calls(untilCompletions: 1).of(2) == [
                    .created(2), .waiting(2), .response(2, 200), .data(2, "1.0"), .metrics(2), .completed(2, nil),
                ])
        }
    }

    // CONN-9, MET-7: the other family has its turn after a quarter of a second
    @Test(
        "packets of one family are lost", .needsNameServer,
        arguments: [("fd00::1", RemoteNetwork.address), ("10.0.0.1", RemoteNetwork.address6)], [nil] + Version.allCases)
    func blackHole(_ way: (swallowed: String, reached: String), version: Version?) async throws {
        let far = try RemoteNetwork()
        let names = try RemoteNetwork.nameServer()
        defer { names.stop() }
        try far.swallowPackets(to: way.swallowed)
        let server =
            if let version {
                try server(version, in: far)
            } else {
                try far.perform { try ScriptedServer.answering(.text("0.0"), options: .everywhere) }
            }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        try await using(delegate) { session async throws in
            #expect(try await text(session, server.url("/", host: "both.example")) == "0.0")
            let transaction = try #require(try await transactions(delegate, count: 1).first)
            #expect(transaction.remoteAddress == way.reached)
            #expect(transaction.localAddress == (way.swallowed == "fd00::1" ? "10.0.0.1" : "fd00::1"))
            #expect(transaction.networkProtocolName == (version == .http2 ? "h2" : "http/1.1"))
            let start = try #require(transaction.connectStartDate)
            let end = try #require(transaction.connectEndDate)
            // IPv6 goes first.
            #expect(end.timeIntervalSince(start) >= (way.swallowed == "fd00::1" ? 0.2 : 0))
            #expect(end.timeIntervalSince(start) < 2)
            if version != nil {
                let secure = try #require(transaction.secureConnectionStartDate)
                #expect(start <= secure && secure <= end)
            }
        }
        #expect(server.connectionCount == 1)
    }

    enum Hole: CaseIterable {
        /// The server accepts connections, and sends nothing.
        case silence
        /// After the first connection all packets are dropped, and no further connection is accepted.
        case loss
    }

    // CONN-9, CONN-15, RFC 8305 §5, §9.2: the race is over with the handshake of TCP
    @Test(
        "the first family takes connections, and nothing comes back over them", .needsNameServer,
        arguments: Hole.allCases)
    func blackHoleBehindHandshake(hole: Hole) async throws {
        let far = try RemoteNetwork()
        let names = try RemoteNetwork.nameServer()
        defer { names.stop() }
        let tls = try TLSServer(TrustedAuthority.server(.server("both.example")))
        let server = try far.perform {
            try ScriptedServer(.everywhere) { connection in
                guard connection.record.family == .ipv4 else {
                    if hole == .loss { try far.swallowPackets(to: "fd00::1") }
                    return _ = try connection.waitForClose()
                }
                try connection.startTLS(tls)
                _ = try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
                try connection.waitForClose()
            }
        }
        defer { server.stop() }
        let url = try #require(URL(string: "https://both.example:\(server.port)/"))
        let delegate = RecordingDelegate()
        try await using(delegate, { $0.timeoutIntervalForRequest = 1 }) { session async throws in
            let start = ContinuousClock.now
            let error = await #expect(throws: URLError.self) { try await text(session, url) }
            #expect(error?.code == .timedOut)
            let duration = ContinuousClock.now - start
            #expect(duration >= .seconds(1) && duration < .seconds(3))
            let transaction = try #require(try await transactions(delegate, count: 1).first)
            #expect(transaction.connectStartDate != nil && transaction.secureConnectionStartDate != nil)
            #expect(transaction.secureConnectionEndDate == nil && transaction.requestStartDate == nil)
            #expect(server.connections.map(\.family) == [.ipv6])
            // If no further connection is accepted, the next load uses another server.
            if hole == .loss { #expect(try await text(session, url) == "yes") }
        }
    }

    // CONN-15: lost packets are detected only by a timeout
    @Test("packets are lost in the middle of a load", arguments: Version.allCases)
    func silence(version: Version) async throws {
        let far = try RemoteNetwork()
        let server = try server(version, in: far)
        defer { server.stop() }
        let url = server.url("/", host: RemoteNetwork.address)
        let delegate = RecordingDelegate()
        try await using(delegate) { session async throws in
            #expect(try await text(session, url) == "0.0")
            var request = URLRequest(url: url, timeoutInterval: 1)
            request.setValue("half", forHTTPHeaderField: "X-Part")
            let (bytes, _) = try await session.bytes(for: request)
            try far.swallowPackets(to: "10.0.0.1")
            let start = ContinuousClock.now
            let error = await #expect(throws: URLError.self) { for try await _ in bytes {} }
            #expect(error?.code == .timedOut)
            #expect(ContinuousClock.now - start < .seconds(10))
            let transactions = try await transactions(delegate, count: 2)
            #expect(transactions.last?.responseStartDate != nil)
        }
    }
}
