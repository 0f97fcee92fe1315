import Foundation
import LoadingConnections
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingPipeline

/// A request and its connections, none of which is one.
@Suite struct ExchangeStageTests {
    @Test("one request, and what comes of it") func exchange() async throws {
        let bench = try ExchangeBench(ExchangeBench.request())
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a")
            bench.carrier.observer?.exchangeSentHead(bytes: 20)
            bench.carrier.observer?.exchangeSentRequest()
            bench.carrier.observer?.exchangeStartedResponse()
            bench.head(103)
            bench.head(200, [("Content-Type", "text/plain")], body: .known(2))
            bench.body("ok")
            bench.ends()
        }
        #expect(try await bench.get { $0.carried } == ["a starts"])
        #expect(try await bench.get { $0.client.events } == ["103", "response 200", "data ok", "done"])
        let kinds = try await bench.get { $0.log.events.map(\.kind) }
        #expect(
            kinds.filter { if case .connectionAssigned = $0 { false } else { true } } == [
                .fetchStarted(.first), .requestStarted, .requestHeadSent(bytes: 20),
                .requestEnded(bytes: 0, content: 0),
                .responseStarted, .informationalResponse(status: 103),
                .responseHead(status: 200, isHTTP10: false, bytes: 10), .responseEnded(bytes: 0, decoded: 2), .ended,
            ])
        try await bench.close()
    }

    // MARK: Losses

    struct Loss: Sendable, CustomTestStringConvertible {
        var method = "GET"
        var isReused = true
        var isShared = false
        /// Held for a step of a conversation, or for its beginning.
        var isBound: Bool?
        var progress = LostExchange.Progress.sent
        var error = LoadError.networkConnectionLost
        var mayWorkOverOtherTransport = false
        var wasAlone = true
        /// Whether the server has answered others meanwhile.
        var isServing = false
        /// What came before the loss.
        var hasHead = false
        var outcome: String

        var testDescription: String {
            "\(method) \(isReused ? "reused" : "new") \(progress) \(error.code) \(isBound.map { "bound \($0)" } ?? "")"
        }
    }

    @Test(
        "what happens to a request whose connection is lost",
        arguments: [
            // CONN-10: safe to send again, and it may have been the connection's fault
            Loss(outcome: "again"), Loss(method: "PUT", outcome: "again"), Loss(isShared: true, outcome: "again"),
            Loss(method: "POST", outcome: "failed -1005"), Loss(isReused: false, outcome: "failed -1005"),
            Loss(isReused: false, mayWorkOverOtherTransport: true, outcome: "again"),
            Loss(isReused: false, wasAlone: false, outcome: "again"),
            Loss(isReused: false, isServing: true, outcome: "again"),
            Loss(method: "POST", isReused: false, wasAlone: false, outcome: "failed -1005"),
            // CONN-10: provably unsent
            Loss(method: "POST", progress: .unsent, outcome: "again"),
            Loss(method: "POST", isReused: false, progress: .unsent, outcome: "again"),
            // CONN-4: the server says that it did not look at it
            Loss(method: "POST", progress: .refused, outcome: "again"),
            Loss(method: "POST", isReused: false, progress: .refused, outcome: "again"),
            // ERR-6: an answer that has begun is the answer
            Loss(progress: .answered, outcome: "failed -1005"),
            Loss(isReused: false, progress: .answered, isServing: true, outcome: "failed -1005"),
            Loss(hasHead: true, outcome: "failed -1005"),
            Loss(progress: .refused, hasHead: true, outcome: "failed -1005"),
            // Nothing was lost: the peer is wrong, and stays wrong
            Loss(error: .cannotParseResponse("x"), outcome: "failed -1017"),
            Loss(progress: .unsent, error: .timedOut, outcome: "failed -1001"),
            // AUTH-19: a step of a conversation makes no sense elsewhere; its beginning does
            Loss(isBound: true, outcome: "failed -1005"),
            Loss(isBound: true, progress: .unsent, outcome: "failed -1005"),
            Loss(isBound: true, progress: .refused, outcome: "failed -1005"),
            Loss(isBound: false, outcome: "again"),
            Loss(method: "POST", isBound: false, outcome: "failed -1005"),
        ])
    func losses(loss: Loss) async throws {
        let body: LoadBody = loss.method == "GET" ? .none : .bytes(Data("body".utf8))
        let bench = try ExchangeBench(ExchangeBench.request(loss.method, body: body))
        try await bench.run { bench in
            if let isBound = loss.isBound {
                bench.start(holding: "a", isBeginning: !isBound)
            } else {
                bench.load.start(.first)
                bench.give("a", isReused: loss.isReused, isShared: loss.isShared)
            }
            if loss.hasHead { bench.head(200, [("Content-Type", "text/plain")], body: .known(9)) }
            bench.loses(
                loss.progress, loss.error, mayWorkOverOtherTransport: loss.mayWorkOverOtherTransport,
                wasAlone: loss.wasAlone,
                lastAnswer: loss.isServing ? bench.stepped.now + 1 : 0)
        }
        #expect(try await bench.get { $0.outcome(after: 0) } == loss.outcome)
        if loss.outcome == "again" {
            // T-51: with all of its body.
            try await bench.run { $0.give("b") }
            let held = loss.isBound == nil ? [] : ["a confirmed"]
            #expect(try await bench.get { $0.carried } == held + ["a starts", "b starts"])
            let sent = try await bench.get { bench -> String in
                guard case .bytes(let data)? = bench.carrier.request?.body else { return "" }
                return String(decoding: data, as: UTF8.self)
            }
            #expect(sent == (loss.method == "GET" ? "" : "body"))
        }
        try await bench.close()
    }

    /// Loses a request again and again, and returns what it came to each time.
    private func series(
        _ count: Int, _ progress: LostExchange.Progress, isReused: Bool = true, isServing: Bool = false,
        in bench: ExchangeBench
    ) async throws -> [String] {
        try await bench.run { $0.load.start(.first) }
        var outcomes: [String] = []
        for number in 0..<count {
            // Time passes between two losses, and the server answers others in it.
            try await bench.stepped.step(by: 1_000)
            let before = try await bench.get { $0.retries }
            try await bench.run { bench in
                bench.give("\(number)", isReused: isReused)
                bench.loses(progress, lastAnswer: isServing ? bench.stepped.now : 0)
            }
            var outcome = try await bench.get { $0.outcome(after: before) }
            if outcome == "waits" {
                let due = try await bench.get { $0.stepped.loop.nextDeadline - $0.stepped.now }
                try await bench.stepped.step(by: due - 1)
                #expect(try await bench.get { $0.outcome(after: before) } == "waits")
                try await bench.stepped.step(by: 1)
                outcome = try await bench.get { $0.outcome(after: before) } + " after \(due / 1_000_000)"
            }
            outcomes.append(outcome)
            if outcome.hasPrefix("failed") { break }
        }
        return outcomes
    }

    // CONN-10: a server that closes every connection is not asked for ever
    @Test("three attempts", arguments: [LostExchange.Progress.sent, .unsent])
    func attempts(progress: LostExchange.Progress) async throws {
        let bench = try ExchangeBench(ExchangeBench.request())
        #expect(try await series(5, progress, in: bench) == ["again", "again", "failed -1005"])
        try await bench.close()
    }

    // CONN-10: one that answers others has more
    @Test("ten losses among the answers of others") func lossesAmongOthers() async throws {
        let bench = try ExchangeBench(ExchangeBench.request())
        let outcomes = try await series(12, .sent, isServing: true, in: bench)
        #expect(outcomes == Array(repeating: "again", count: 9) + ["failed -1005"])
        try await bench.close()
    }

    // CONN-4
    @Test("a server that refuses everything is asked ever less often") func refusals() async throws {
        let bench = try ExchangeBench(ExchangeBench.request("POST"))
        #expect(
            try await series(12, .refused, isReused: false, in: bench) == [
                "again", "again", "again after 100", "again after 200", "again after 400", "again after 800",
                "again after 1000", "again after 1000", "again after 1000", "failed -1005",
            ])
        try await bench.close()
    }

    // CONN-4: while it serves others there is no limit, but it is asked ever less often
    @Test("a server that refuses and serves", arguments: [LostExchange.Progress.refused, .unsent])
    func refusesAndServes(progress: LostExchange.Progress) async throws {
        let bench = try ExchangeBench(ExchangeBench.request("POST"))
        let outcomes = try await series(20, progress, isReused: false, isServing: true, in: bench)
        let pauses = [5, 10, 20, 40, 80, 160, 320, 640] + Array(repeating: 1000, count: 8)
        #expect(outcomes == Array(repeating: "again", count: 4) + pauses.map { "again after \($0)" })
        try await bench.close()
    }

    // C-6, CONN-15: an attempt that the server has not processed is no activity, whatever was sent
    @Test("a server that refuses one request forever", arguments: [LostExchange.Progress.refused, .unsent])
    func refusedUntilTimeout(progress: LostExchange.Progress) async throws {
        let bench = try ExchangeBench(ExchangeBench.request("POST", body: .bytes(Data("body".utf8))))
        let start = try await bench.get { $0.stepped.now }
        try await bench.run { $0.load.start(.first) }
        var attempts = 0
        while try await bench.get({ !$0.load.hasEnded }), attempts < 1000 {
            attempts += 1
            let before = try await bench.get { $0.retries }
            try await bench.run { bench in
                bench.give("a", isShared: true)
                bench.carrier.observer?.exchangeSentHead(bytes: 20)
                bench.carrier.observer?.exchangeSentBody(bytes: 4, onWire: 4)
                bench.carrier.observer?.exchangeSentRequest()
            }
            try await bench.stepped.step(by: 1_000_000)
            try await bench.run { $0.loses(progress, lastAnswer: $0.stepped.now) }
            while try await bench.get({ $0.retries == before && !$0.load.hasEnded }) {
                let due = try await bench.get { $0.stepped.loop.nextDeadline - $0.stepped.now }
                try await bench.stepped.step(by: due)
            }
        }
        #expect(try await bench.get { $0.client.events.last } == "failed -1001")
        let end = try await bench.get { $0.stepped.now }
        #expect((end - start) / 1_000_000_000 == 60)
        #expect(attempts < 80)
        try await bench.close()
    }

    // CONN-24: the queue for a connection does not count, after a refusal either
    @Test("a refused request in the queue") func refusedInQueue() async throws {
        let bench = try ExchangeBench(ExchangeBench.request("POST"))
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a", isShared: true)
        }
        for _ in 0..<3 {
            try await bench.run { $0.loses(.refused, lastAnswer: $0.stepped.now + 1) }
            try await bench.stepped.step(by: 50_000_000_000)
            try await bench.run { $0.give("a", isShared: true) }
        }
        #expect(try await bench.get { !$0.load.hasEnded })
        try await bench.close()
    }

    // T-2
    @Test("a request that is lost while the load is suspended waits for it to go on") func lostWhileSuspended()
        async throws
    {
        let bench = try ExchangeBench(ExchangeBench.request())
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a", isReused: true)
            bench.load.suspend()
            bench.loses(.sent)
        }
        #expect(try await bench.get { $0.load.exchange == nil && !$0.load.machine.hasEnded })
        try await bench.run { bench in
            bench.load.resume()
            bench.give("b")
        }
        #expect(try await bench.get { $0.carried } == ["a starts", "a suspended", "b starts"])
        try await bench.close()
    }

    // MARK: Servers elsewhere

    // CONN-3
    @Test(
        "a 421 has the request go to the origin's own server, once",
        arguments: [(true, ["a starts", "a avoided", "a cancelled", "b starts", "b avoided"]), (false, ["a starts"])])
    func misdirected(mayBeMisdirected: Bool, expected: [String]) async throws {
        let bench = try ExchangeBench(ExchangeBench.request("POST"))
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a", mayBeMisdirected: mayBeMisdirected)
            bench.head(421, [("Content-Type", "text/plain")])
            guard mayBeMisdirected else { return }
            bench.give("b", mayBeMisdirected: true)
            bench.head(421, [("Content-Type", "text/plain")])
        }
        #expect(try await bench.get { $0.carried } == expected)
        // The last one is the client's.
        #expect(try await bench.get { $0.client.events } == ["response 421"])
        try await bench.close()
    }

    // MARK: Streams of a body

    private static func upload() throws -> ExchangeBench {
        try ExchangeBench(ExchangeBench.request("POST", body: .stream(nil, length: 4)))
    }

    // S-50, CONN-2: others may need the place while the delegate thinks, the delegate among them
    @Test("a place on a shared connection goes back while the client is asked for a body") func sharedPlace()
        async throws
    {
        let bench = try Self.upload()
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a", isShared: true)
        }
        #expect(try await bench.get { $0.client.events } == ["body from 0"])
        #expect(try await bench.get { $0.carried } == ["a put back"])
        // No time passes for the load while its client thinks.
        #expect(try await bench.get { $0.load.exchange?.hasConnection == true && $0.load.exchange?.isActive == false })
        try await bench.run { bench in
            bench.load.provideBody(FakeBodySource("body"), from: 0)
            bench.give("b", isShared: true)
        }
        #expect(try await bench.get { $0.carried } == ["a put back", "b starts"])
        #expect(try await bench.get { $0.client.events } == ["body from 0"])
        try await bench.close()
    }

    // S-50
    @Test("a connection of HTTP/1.1 is reserved for a second") func reserved() async throws {
        let bench = try Self.upload()
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a")
        }
        try await bench.stepped.step(by: bench.stepped.limits.bodyReservation - 1)
        #expect(try await bench.get { $0.carried } == [])
        try await bench.stepped.step(by: 1)
        #expect(try await bench.get { $0.carried } == ["a put back"])
        try await bench.run { bench in
            bench.load.provideBody(FakeBodySource("body"), from: 0)
            bench.give("b")
        }
        #expect(try await bench.get { $0.carried } == ["a put back", "b starts"])
        try await bench.close()
    }

    // S-50, CONN-10: the server may have closed it meanwhile
    @Test("a reserved connection is looked at before it is used", arguments: [true, false])
    func reservedInTime(isAlive: Bool) async throws {
        let bench = try Self.upload()
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a")
            bench.carrier.isAlive = isAlive
            bench.load.provideBody(FakeBodySource("body"), from: 0)
            if !isAlive { bench.give("b") }
        }
        #expect(
            try await bench.get { $0.carried }
                == (isAlive ? ["a confirmed", "a starts"] : ["a confirmed", "b starts"]))
        // It is not given back a second later.
        try await bench.stepped.step(by: 2 * bench.stepped.limits.bodyReservation)
        #expect(try await bench.get { $0.carried.count } == 2)
        try await bench.close()
    }

    // S-50
    @Test("a client that has its stream ready loses no time", arguments: [true, false])
    func ready(isShared: Bool) async throws {
        let bench = try Self.upload()
        try await bench.run { bench in
            bench.client.onBodyNeeded = { _ in bench.load.provideBody(FakeBodySource("body"), from: 0) }
            bench.load.start(.first)
            bench.give("a", isShared: isShared)
            bench.client.onBodyNeeded = nil
        }
        #expect(try await bench.get { $0.carried } == ["a starts"])
        try await bench.close()
    }

    // AUTH-19: what a conversation needs is not given to others
    @Test("a connection that a conversation needs is kept for the body") func bound() async throws {
        let bench = try Self.upload()
        try await bench.run { $0.start(holding: "a", isBeginning: false) }
        try await bench.stepped.step(by: 2 * bench.stepped.limits.bodyReservation)
        #expect(try await bench.get { $0.carried } == ["a confirmed"])
        try await bench.run { $0.load.provideBody(FakeBodySource("body"), from: 0) }
        #expect(try await bench.get { $0.carried } == ["a confirmed", "a starts"])
        try await bench.close()
    }

    // T-51
    @Test("a client without a stream fails the load, and the connection goes back") func noStream() async throws {
        let bench = try Self.upload()
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a")
            bench.load.provideBody(nil, from: 0)
        }
        #expect(try await bench.get { $0.client.events } == ["body from 0", "failed -1021"])
        #expect(try await bench.get { $0.carried } == ["a put back"])
        try await bench.close()
    }

    // T-2
    @Test("a stream that comes while the load is suspended is sent when it goes on") func suspended() async throws {
        let bench = try Self.upload()
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a")
            bench.load.suspend()
            bench.load.provideBody(FakeBodySource("body"), from: 0)
        }
        #expect(try await bench.get { $0.carried } == [])
        try await bench.run { $0.load.resume() }
        #expect(try await bench.get { $0.carried } == ["a confirmed", "a starts"])
        try await bench.close()
    }

    // T-51, S-50: the first stream was read from
    @Test("a streamed body that was lost is asked for again when there is a connection") func lostStream() async throws
    {
        let bench = try ExchangeBench(ExchangeBench.request("PUT", body: .stream(nil, length: 4)))
        try await bench.run { bench in
            let source = FakeBodySource("body")
            bench.load.start(.first)
            bench.give("a", isReused: true)
            bench.load.provideBody(source, from: 0)
            source.touch()
            bench.loses(.sent)
            #expect(bench.client.events == ["body from 0"])
            bench.give("b")
        }
        #expect(try await bench.get { $0.client.events } == ["body from 0", "body from 0"])
        #expect(try await bench.get { $0.carried } == ["a confirmed", "a starts"])
        try await bench.close()
    }

    @Test("a load that is cancelled gives its connection up", arguments: [true, false])
    func cancelled(isSending: Bool) async throws {
        let bench = try isSending ? ExchangeBench(ExchangeBench.request()) : Self.upload()
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a")
            bench.load.cancel(.cancelled)
        }
        #expect(try await bench.get { $0.carried } == (isSending ? ["a starts", "a cancelled"] : ["a put back"]))
        #expect(try await bench.get { $0.client.events.last } == "failed -999")
        try await bench.close()
    }

    // MARK: What goes with a connection

    // T-19
    @Test("a connection is notified of a priority other than the default") func priority() async throws {
        let bench = try ExchangeBench(ExchangeBench.request())
        try await bench.run { bench in
            bench.load.start(.first)
            bench.load.setPriority(0.75)
            bench.give("a")
            bench.load.setPriority(0.25)
        }
        #expect(try await bench.get { $0.carried } == ["a priority 0.75", "a starts", "a priority 0.25"])
        try await bench.close()
    }

    // R-23
    @Test("the rest of a redirect passes on its connection") func drained() async throws {
        let bench = try ExchangeBench(ExchangeBench.request())
        try await bench.run { bench in
            bench.load.start(.first)
            bench.give("a")
            bench.head(302, [("Location", "/y")], body: .known(100))
        }
        try await bench.run { $0.give("b") }
        #expect(try await bench.get { $0.carried } == ["a starts", "a drained", "b starts"])
        #expect(try await bench.get { $0.client.events } == ["redirect 302 to http://a.example/y"])
        try await bench.close()
    }

    // PROXY-5, PROXY-11: the caller's fields for the proxy go to the proxy, and those for the server to the server
    @Test(
        "what goes to a proxy that loads the request itself, and what to one that makes a tunnel",
        arguments: [
            (nil, "http://a.example/x?q", ["Host", "X-Own"]),
            ("http://proxy.test:3128", "http://a.example/x?q", ["Host", "X-Own", "Proxy-Authorization"]),
            ("http://proxy.test:3128", "https://a.example/x?q", ["Host", "X-Own"]),
            ("socks5://proxy.test:1080", "http://a.example/x?q", ["Host", "X-Own"]),
        ] as [(String?, String, [String])])
    func forwarded(proxy: String?, url: String, names: [String]) async throws {
        let request = try ExchangeBench.request("GET", url, [("X-Own", "1"), ("Proxy-Authorization", "mine")])
        let bench = try ExchangeBench(request)
        let way = try proxy.map { ProxyRoute.through(try #require(ProxyServer($0))) } ?? .direct
        try await bench.run { $0.start(holding: "a", by: way, isBeginning: true) }
        let target = try await bench.get { bench -> String in
            switch bench.carrier.request?.target {
            case .origin(let target)?: target
            case .absolute(let scheme, let authority, let target)?: "\(scheme)://\(authority)\(target)"
            default: "?"
            }
        }
        #expect(target == (names.contains("Proxy-Authorization") ? url : "/x?q"))
        let sent = try await bench.get { bench in
            let fields = bench.carrier.request?.fields ?? HTTPFields()
            return (0..<fields.count).map { fields.name(at: $0) }
        }
        #expect(sent == names)
        try await bench.close()
    }
}
