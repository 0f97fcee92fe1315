import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/3 when the route to the server changes. Sessions and server are in different network namespaces.
@Suite(.needsHTTP3, .inNetworkNamespace, .needsNetworkNamespace, .needs(.gtlsserver), .timeLimit(.minutes(1)))
struct HTTP3RouteTests {
    private static let big = [UInt8].pattern(count: 8_000_000)
    /// More than a stream's window, and little enough to be read byte by byte.
    private static let middle = [UInt8](big.prefix(3_000_000))

    private func server(
        in far: RemoteNetwork, _ name: String = RemoteNetwork.address, port: Int? = nil, options: [String] = []
    ) throws -> GtlsServer {
        let authority = try TrustedAuthority.authority
        return try far.perform {
            try GtlsServer(
                files: ["small": Array("small".utf8), "middle": Self.middle, "big": Self.big], authority: authority,
                profile: .server(CertificateProfile.Name(name)), isEverywhere: true, options: options, port: port)
        }
    }

    private func request(_ port: Int, _ path: String, _ host: String = RemoteNetwork.address) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://\(host):\(port)\(path)")))
        request.assumesHTTP3Capable = true
        return request
    }

    /// The server answers when the last byte of the body is there.
    private func post(_ port: Int) throws -> URLRequest {
        var request = try request(port, "/small")
        request.httpMethod = "POST"
        return request
    }

    private func text(_ session: URLSession, _ request: URLRequest) async throws -> String {
        String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    enum Change: CaseIterable {
        /// The new address is there before the old one goes.
        case overlapping
        /// For a while there is none.
        case interrupted
        /// The interface goes down for a while, and up with its address as it was.
        case interfaceDown
        /// The same, but so briefly that it may be unnoticed.
        case interfaceBlinks

        /// - Parameter duringGap: Called while there is no way.
        func happen(duringGap: () async throws -> Void) async throws {
            switch self {
            case .overlapping:
                try NetworkNamespace.ip("address", "add", "10.0.0.3/32", "dev", "near")
                try NetworkNamespace.ip("route", "add", "10.0.0.2", "dev", "near", "src", "10.0.0.3")
                try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
            case .interrupted:
                try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
                try await duringGap()
                try NetworkNamespace.ip("address", "add", "10.0.0.3/24", "dev", "near")
            case .interfaceDown:
                try NetworkNamespace.ip("link", "set", "near", "down")
                try await duringGap()
                try NetworkNamespace.ip("link", "set", "near", "up")
            case .interfaceBlinks:
                try NetworkNamespace.ip("link", "set", "near", "down")
                try NetworkNamespace.ip("link", "set", "near", "up")
            }
        }

        var hasGap: Bool { self == .interrupted || self == .interfaceDown }
        var movesAddress: Bool { self == .overlapping || self == .interrupted }
        /// The near address when it is over.
        var address: String { movesAddress ? "10.0.0.3" : "10.0.0.1" }
    }

    /// A connection over TCP beside those of HTTP/3, of the same session: what becomes of it is what the session
    /// has noticed.
    private struct Witness {
        let server: ScriptedServer
        let session: URLSession
        private let url: URL

        init(in far: RemoteNetwork, of session: URLSession) async throws {
            server = try far.perform { try ScriptedServer.answering(.everywhere) { .text($0.target) } }
            self.session = session
            url = server.url("/", host: RemoteNetwork.address)
            _ = try await session.data(from: url)
        }

        /// Returns when the session has noticed that the connection's way is gone.
        func waitForChange() async throws {
            try await eventually { [port = server.port] in !Loopback.hasConnection(to: port) }
        }

        /// The same where there is no other way.
        func waitForLoss() async throws {
            try await waitForChange()
            // CONN-12; and in a turn behind the one that has closed it.
            let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
            #expect(error?.code == .notConnectedToInternet)
        }
    }

    private func using(
        _ far: RemoteNetwork, options: [String] = [],
        _ body: (URLSession, GtlsServer, Witness, TransactionRecorder) async throws -> Void
    ) async throws {
        let server = try server(in: far, options: options)
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            let witness = try await Witness(in: far, of: session)
            defer { witness.server.stop() }
            try await body(session, server, witness, metrics)
        }
    }

    /// Those of one server, in the order of their ends.
    private func transactions(
        _ metrics: TransactionRecorder, of server: GtlsServer, count: Int
    ) async throws -> [URLSessionTaskTransactionMetrics] {
        let port = server.port
        return try await metrics.transactions.waitUntil("\(count) transactions") {
            $0.count { $0.request.url?.port == port } >= count
        }.filter { $0.request.url?.port == port }
    }

    /// A body as it comes, and its longest pause.
    private struct Body {
        private var iterator: URLSession.AsyncBytes.AsyncIterator
        private(set) var bytes: [UInt8] = []
        private(set) var longestPause = Duration.zero
        private var last = ContinuousClock.now

        init(_ body: URLSession.AsyncBytes) { iterator = body.makeAsyncIterator() }

        mutating func read(_ count: Int = .max) async throws {
            last = .now
            while bytes.count < count, let byte = try await iterator.next() {
                bytes.append(byte)
                if bytes.count % 8_192 == 0 { note() }
            }
            note()
        }

        private mutating func note() {
            let now = ContinuousClock.now
            longestPause = max(longestPause, now - last)
            last = now
        }
    }

    // S-7, MET-7, RFC 9000 §9: the load goes on where it was, and soon
    @Test("an address changes in the middle of a load", arguments: Change.allCases)
    func migration(change: Change) async throws {
        let far = try RemoteNetwork()
        try await using(far) { session, server, witness, metrics async throws in
            var body = Body(try await session.bytes(for: request(server.port, "/big")).0)
            try await body.read(1_000_000)
            try await change.happen(duringGap: witness.waitForLoss)
            try await body.read()
            #expect(body.bytes == Self.big)
            #expect(body.longestPause < .seconds(3), "\(body.longestPause)")
            #expect(try await text(session, request(server.port, "/small")) == "small")
            let transactions = try await transactions(metrics, of: server, count: 2)
            #expect(transactions.count == 2)
            #expect(transactions.map(\.networkProtocolName) == ["h3", "h3"])
            #expect(transactions.map(\.remoteAddress) == [RemoteNetwork.address, RemoteNetwork.address])
            // The first has the address at which it began.
            #expect(transactions.map(\.localAddress) == ["10.0.0.1", change.address])
            #expect(transactions.first?.isReusedConnection == false)
            // A connection that had no way is left to what it carries.
            if change != .interfaceBlinks {
                #expect(transactions.last?.isReusedConnection == !change.hasGap)
            }
        }
    }

    // S-7: longer than a packet takes to be given up; what is there already is read meanwhile
    @Test("an interface is down for a second and a half in the middle of several loads") func outage() async throws {
        let far = try RemoteNetwork()
        try await using(far) { session, server, witness, metrics async throws in
            let isDown = Signal("the interface is down")
            let bodies = try await withThrowingTaskGroup(of: Body.self) { group async throws in
                let begun = EventRecorder<Int>()
                for number in 0..<3 {
                    group.addTask { [request = try request(server.port, "/middle")] in
                        var body = Body(try await session.bytes(for: request).0)
                        try await body.read(100_000)
                        begun.record(number)
                        try await isDown.wait()
                        try await body.read()
                        return body
                    }
                }
                try await begun.waitFor(count: 3)
                try await Change.interfaceDown.happen {
                    isDown.fire()
                    let start = ContinuousClock.now
                    try await witness.waitForLoss()
                    try await Task.sleep(until: start + .milliseconds(1_500))
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for body in bodies {
                #expect(body.bytes == Self.middle)
                #expect(body.longestPause < .seconds(4), "\(body.longestPause)")
            }
            let transactions = try await transactions(metrics, of: server, count: 3)
            #expect(transactions.map(\.networkProtocolName) == ["h3", "h3", "h3"])
            #expect(transactions.map(\.localAddress) == [String](repeating: "10.0.0.1", count: 3))
            #expect(transactions.count == 3)
        }
    }

    // S-7, MET-7
    @Test(
        "an address changes under several loads of one connection",
        arguments: Change.allCases.filter { $0 != .interfaceBlinks })
    func severalLoads(change: Change) async throws {
        let far = try RemoteNetwork()
        try await using(far) { session, server, witness, metrics async throws in
            #expect(try await text(session, request(server.port, "/small")) == "small")
            var bodies: [Body] = []
            for count in [1, 300_000, 1_000_000] {
                var body = Body(try await session.bytes(for: request(server.port, "/middle")).0)
                try await body.read(count)
                bodies.append(body)
            }
            try await change.happen(duringGap: witness.waitForLoss)
            for index in bodies.indices {
                try await bodies[index].read()
                #expect(bodies[index].bytes == Self.middle)
                #expect(bodies[index].longestPause < .seconds(3), "\(bodies[index].longestPause)")
            }
            let transactions = try await transactions(metrics, of: server, count: 4)
            #expect(transactions.map(\.isReusedConnection) == [false, true, true, true])
            #expect(transactions.map(\.networkProtocolName) == ["h3", "h3", "h3", "h3"])
            // Each has the address at which it began.
            #expect(transactions.map(\.localAddress) == [String](repeating: "10.0.0.1", count: 4))
        }
    }

    // S-7, CONN-10: it is sent once, and comes whole
    @Test("an address changes in the middle of an upload", arguments: Change.allCases)
    func upload(change: Change) async throws {
        let far = try RemoteNetwork()
        try await using(far) { session, server, witness, metrics async throws in
            let (isRead, release) = (Signal("half of the body"), Signal("the other half"))
            defer { release.fire() }
            var request = try post(server.port)
            request.httpBodyStream = BlockingInputStream(
                Self.big, givingFirst: 4_000_000, onRead: isRead, until: release)
            let answer = Task { [request] in try await session.data(for: request) }
            try await isRead.wait()
            try await change.happen(duringGap: witness.waitForLoss)
            let start = ContinuousClock.now
            release.fire()
            let data = try await answer.value.0
            #expect(ContinuousClock.now - start < .seconds(5))
            #expect(String(decoding: data, as: UTF8.self) == "small")
            let transactions = try await transactions(metrics, of: server, count: 1)
            #expect(transactions.map(\.networkProtocolName) == ["h3"])
            #expect(transactions.map(\.localAddress) == ["10.0.0.1"])
            #expect(transactions.map(\.countOfRequestBodyBytesBeforeEncoding) == [Int64(Self.big.count)])
            #expect(transactions.allSatisfy { $0.responseStartDate != nil })
        }
    }

    // CONN-10, CONN-12: not even a request that must not be sent twice is lost on it
    @Test(
        "an idle connection whose route is lost takes another route, or is closed",
        arguments: Change.allCases.filter { $0 != .interfaceBlinks })
    func idle(change: Change) async throws {
        let far = try RemoteNetwork()
        try await using(far) { session, server, witness, metrics async throws in
            #expect(try await text(session, request(server.port, "/small")) == "small")
            try await change.happen {
                try await witness.waitForLoss()
                #expect(!Loopback.hasConnection(to: server.port))
                let error = await #expect(throws: URLError.self) { try await session.data(for: post(server.port)) }
                #expect(error?.code == .notConnectedToInternet)
            }
            try await witness.waitForChange()
            let start = ContinuousClock.now
            let (_, response) = try await session.upload(for: post(server.port), from: Data("body".utf8))
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(ContinuousClock.now - start < .seconds(3))
            let transactions = try await transactions(metrics, of: server, count: change.hasGap ? 3 : 2)
            #expect(transactions.count == (change.hasGap ? 3 : 2))
            #expect(
                transactions.map(\.localAddress) == ["10.0.0.1"] + (change.hasGap ? [nil] : []) + [change.address])
            #expect(transactions.last?.networkProtocolName == "h3")
            #expect(transactions.last?.isReusedConnection == !change.hasGap)
        }
    }

    /// Which timeout ends first when there is no route any more.
    enum FirstTimeout: CaseIterable {
        case request
        /// As long as the server keeps a silent connection.
        case connection
    }

    // CONN-11, CONN-15, MET-7: another route may appear, so not at once; but not after the earliest timeout
    // for
    @Test("an interface goes down during a load and stays down", arguments: FirstTimeout.allCases)
    func outageWithoutEnd(timeout: FirstTimeout) async throws {
        let far = try RemoteNetwork()
        let isLong = timeout == .connection
        try await using(far, options: isLong ? ["--timeout=2s"] : []) {
            session, server, witness, metrics async throws in
            #expect(try await text(session, request(server.port, "/small")) == "small")
            var request = try request(server.port, "/big")
            if !isLong { request.timeoutInterval = 1 }
            var body = Body(try await session.bytes(for: request).0)
            try await body.read(1_000_000)
            let start = ContinuousClock.now
            try NetworkNamespace.ip("link", "set", "near", "down")
            let error = await #expect(throws: URLError.self) { try await body.read() }
            let duration = ContinuousClock.now - start
            #expect(error?.code == (isLong ? .networkConnectionLost : .timedOut))
            #expect(duration > .milliseconds(isLong ? 1_500 : 900) && duration < .seconds(6), "\(duration)")
            #expect(body.bytes == Array(Self.big.prefix(body.bytes.count)) && body.bytes.count < Self.big.count)
            // Nothing is left that a request could be lost on.
            try await witness.waitForLoss()
            #expect(!Loopback.hasConnection(to: server.port))
            try NetworkNamespace.ip("link", "set", "near", "up")
            #expect(try await text(session, self.request(server.port, "/small")) == "small")
            let transactions = try await transactions(metrics, of: server, count: 3)
            #expect(transactions.map(\.networkProtocolName) == ["h3", "h3", "h3"])
            #expect(transactions.map(\.isReusedConnection) == [false, true, false])
            #expect(transactions.map(\.localAddress) == ["10.0.0.1", "10.0.0.1", "10.0.0.1"])
            #expect(transactions.map(\.remoteAddress) == [String](repeating: RemoteNetwork.address, count: 3))
            #expect(transactions.allSatisfy { $0.responseStartDate != nil })
        }
    }

    // CONN-12, CONN-14: a running load waits for another route, one that begins fails at once
    @Test("a load begins while the shared connection has no route") func beginsDuringOutage() async throws {
        let far = try RemoteNetwork()
        try await using(far) { session, server, witness, metrics async throws in
            var body = Body(try await session.bytes(for: request(server.port, "/big")).0)
            try await body.read(1_000_000)
            try await Change.interfaceDown.happen {
                try await witness.waitForLoss()
                for method in ["GET", "POST"] {
                    let start = ContinuousClock.now
                    var request = try request(server.port, "/small")
                    request.httpMethod = method
                    let error = await #expect(throws: URLError.self) {
                        try await session.data(for: request)
                    }
                    #expect(error?.code == .notConnectedToInternet)
                    #expect(ContinuousClock.now - start < .seconds(2))
                }
            }
            try await body.read()
            #expect(body.bytes == Self.big)
            #expect(try await text(session, request(server.port, "/small")) == "small")
        }
    }

    // CONN-14, T-27, MET-7
    @Test("a waiting load continues when the interface is up") func waiting() async throws {
        let far = try RemoteNetwork()
        let server = try server(in: far)
        defer { server.stop() }
        try await TransactionRecorder.record(waitsForConnectivity: true) { session, metrics async throws in
            #expect(try await text(session, request(server.port, "/small")) == "small")
            try NetworkNamespace.ip("link", "set", "near", "down")
            try await eventually { !Loopback.hasConnection(to: server.port) }
            let answer = Task { try await text(session, request(server.port, "/small")) }
            try await metrics.waiting.waitFor(count: 1)
            try NetworkNamespace.ip("link", "set", "near", "up")
            #expect(try await answer.value == "small")
            let last = try #require(try await metrics.transactions.waitUntil("the end") { $0.count >= 2 }.last)
            #expect(last.networkProtocolName == "h3" && last.localAddress == "10.0.0.1" && !last.isReusedConnection)
        }
    }

    // CONN-6, CONN-8: and the next load does not try again
    @Test("datagrams are lost, and TCP is used") func datagramsLost() async throws {
        let far = try RemoteNetwork()
        try far.swallowDatagrams()
        let tls = try TrustedAuthority.server(.server(CertificateProfile.Name(RemoteNetwork.address)))
        let server = try far.perform { try ScriptedServer.answering(.everywhere, tls: tls) { .text($0.target) } }
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            for path in ["/1", "/2"] {
                #expect(
                    String(decoding: try await session.data(for: request(server.port, path)).0, as: UTF8.self)
                        == path)
            }
            let transactions = try await metrics.transactions.waitFor(count: 2)
            #expect(transactions.map(\.networkProtocolName) == ["http/1.1", "http/1.1"])
            let duration = try #require(transactions.first?.connectEndDate).timeIntervalSince(
                try #require(transactions.first?.connectStartDate))
            #expect(duration < 2)
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-9: the other family has its turn after a quarter of a second; the second is as long as QUIC has beside
    // TCP
    @Test(
        "datagrams of one family are lost, and there is no TCP", .needsNameServer,
        arguments: [Loopback.ipv6, .ipv4])
    func familyLost(_ family: Loopback) async throws {
        let far = try RemoteNetwork()
        let names = try RemoteNetwork.nameServer()
        defer { names.stop() }
        try far.swallowDatagrams(over: family)
        let server = try server(in: far, "both.example")
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            #expect(try await text(session, request(server.port, "/small", "both.example")) == "small")
            let transaction = try #require(try await metrics.transactions.waitFor(count: 1).first)
            #expect(transaction.networkProtocolName == "h3")
            #expect(transaction.remoteAddress == (family == .ipv6 ? RemoteNetwork.address : RemoteNetwork.address6))
            #expect(transaction.localAddress == (family == .ipv6 ? "10.0.0.1" : "fd00::1"))
            let start = try #require(transaction.connectStartDate)
            let duration = try #require(transaction.connectEndDate).timeIntervalSince(start)
            // IPv6 goes first.
            #expect(duration >= (family == .ipv6 ? 0.2 : 0) && duration < 3, "\(duration)")
        }
    }

    // CONN-8, CONN-9: the first handshake that is through wins, and TCP is not far
    @Test("datagrams of the first family are lost, and TCP is available", .needsNameServer)
    func familyLostBesideTCP() async throws {
        let far = try RemoteNetwork()
        let names = try RemoteNetwork.nameServer()
        defer { names.stop() }
        try far.swallowDatagrams(over: .ipv6)
        let tls = try TrustedAuthority.server(.server("both.example"))
        let tcp = try far.perform { try ScriptedServer.answering(.everywhere, tls: tls) { .text($0.target) } }
        defer { tcp.stop() }
        let server = try server(in: far, "both.example", port: tcp.port)
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            for _ in 0..<2 {
                let text = try await text(session, request(tcp.port, "/small", "both.example"))
                #expect(["small", "/small"].contains(text))
            }
            let transactions = try await metrics.transactions.waitFor(count: 2)
            // TCP begins earlier than QUIC's next address, by no more than a busy machine may lose.
            let ways = transactions.map { "\($0.networkProtocolName ?? "") \($0.remoteAddress ?? "")" }
            // QUIC's goes on, and is there for the second if it is there by then.
            let tcpWay = "http/1.1 \(RemoteNetwork.address6)", quicWay = "h3 \(RemoteNetwork.address)"
            #expect([[tcpWay, tcpWay], [tcpWay, quicWay], [quicWay, quicWay]].contains(ways))
            #expect(transactions.map(\.isReusedConnection) == [false, true])
            let start = try #require(transactions.first?.fetchStartDate)
            #expect(try #require(transactions.first?.connectEndDate).timeIntervalSince(start) < 3)
        }
        #expect(tcp.connectionCount <= 1)
    }
}
