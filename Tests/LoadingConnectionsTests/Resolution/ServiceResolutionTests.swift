import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// What name servers are asked about the services of origins, and what they say.
@Suite struct ServiceResolutionTests {
    private struct Answer: Equatable, Sendable {
        let answer: HTTPSRecordAnswer
        let isRemembered: Bool
    }

    private let loop = EventLoops.assign()
    private let recorded = EventRecorder<Answer>()
    private let record = HTTPSRecord(priority: 1, target: "b.example", protocols: [Array("h3".utf8)])

    @discardableResult
    private func ask(_ resolver: NameResolver, _ host: String, port: UInt16 = 443) -> QueryTicket? {
        resolver.findServices(HTTPSRecordQuery(host, port: port), on: loop) { [recorded] answer, isRemembered in
            recorded.record(Answer(answer: answer, isRemembered: isRemembered))
        }
    }

    // CONN-6: RFC 9460 §9.1
    @Test("an origin is asked about by its name, and by its port if that is another") func names() {
        #expect(HTTPSRecordQuery("a.example", port: 443).name == "a.example")
        #expect(HTTPSRecordQuery("a.example.", port: 443).name == "a.example")
        #expect(HTTPSRecordQuery("a.example", port: 8443).name == "_8443._https.a.example")
    }

    // CONN-6: RFC 6761, RFC 6762
    @Test(
        "addresses and names of this machine and its network are not looked up",
        arguments: [
            "127.0.0.1", "127.1", "::1", "fe80::1%lo", "2001:db8::1", "localhost", "localhost.", "a.localhost",
            "printer.local",
            "printer.local.", "a.invalid", "a.onion", "intranet", "intranet.", "", ".", "a..b", "a b.c",
        ])
    func localNamesAndAddresses(host: String) {
        let never = NameResolver(ask: { _ in .success([]) }) { _ in
            Issue.record("asked")
            return .success(.none)
        }
        #expect(ask(never, host) == nil)
        #expect(HTTPSRecordQuery("local.example", port: 443).mayBeAsked)
    }

    // CONN-6
    @Test("an answer is remembered beside those about addresses, until it is forgotten") func memory() async throws {
        let asked = EventRecorder<HTTPSRecordQuery>()
        let answer = HTTPSRecordAnswer.success(HTTPSRecordSet([record], lifetime: 60))
        let resolver = NameResolver(ask: { _ in .failure(.unknownName) }) { question in
            asked.record(question)
            return answer
        }
        func expectAnswer(isRemembered: Bool) async throws {
            let count = recorded.events.count
            ask(resolver, "a.example")
            let events = try await recorded.waitFor(count: count + 1)
            #expect(events.last == Answer(answer: answer, isRemembered: isRemembered))
        }
        try await expectAnswer(isRemembered: false)
        try await expectAnswer(isRemembered: true)
        resolver.forget("b.example")
        try await expectAnswer(isRemembered: true)
        resolver.forget("a.example")
        try await expectAnswer(isRemembered: false)
        resolver.forgetAnswers()
        try await expectAnswer(isRemembered: false)
        #expect(asked.events.count == 3)
    }

    // CONN-9: RFC 8305 §3
    @Test("servers that do not answer delay no address, and a withdrawn query gets no answer") func slow() async throws
    {
        let gate = Signal("the end of the test")
        let asked = EventRecorder<HTTPSRecordQuery>()
        let resolver = NameResolver(idleSeconds: 0, ask: { _ in .failure(.unknownName) }) { question in
            asked.record(question)
            try? gate.wait(within: .seconds(60))
            return .success(.none)
        }
        let tickets = (0..<40).map { ask(resolver, "h\($0).example") }
        try await asked.waitFor(count: 8)
        let answered = EventRecorder<Bool>()
        _ = resolver.resolve(AddressQuery("a.example", .ipv4), on: loop) { _, _ in answered.record(true) }
        try await answered.waitFor(count: 1)
        #expect(asked.events.count == 8)
        #expect(resolver.queuedQuestionCount == 32)
        for ticket in tickets { try #require(ticket).withdraw() }
        #expect(resolver.queuedQuestionCount == 0)
        gate.fire()
        try await eventually { resolver.threadCount == 0 }
        #expect(recorded.events == [])
    }

    // CONN-6: RFC 9460 §3
    @Test("aliases are followed, but not for ever") func aliases() {
        func answer(_ hosts: [String: HTTPSAnswer]) -> (HTTPSRecordAnswer, [String]) {
            var asked: [String] = []
            let query = HTTPSRecordLookup(HTTPSRecordQuery("a.example", port: 8443), hosts: { HostsFile([]) }) { name in
                asked.append(name)
                return hosts[name].map { .success($0) } ?? .failure(.tryAgain)
            }
            return (query.answer(), asked)
        }
        let first = "_8443._https.a.example"
        let (found, asked) = answer([
            first: HTTPSAnswer(.alias("b.example"), lifetime: 50),
            "b.example": HTTPSAnswer(.services([record]), lifetime: 60),
        ])
        #expect(found == .success(HTTPSRecordSet([record], lifetime: 50)))
        #expect(asked == [first, "b.example"])
        let (nothing, _) = answer([
            first: HTTPSAnswer(.alias("b.example"), lifetime: 50), "b.example": HTTPSAnswer(.none, lifetime: nil),
        ])
        #expect(nothing == .success(HTTPSRecordSet([], lifetime: 50)))
        let (circle, round) = answer([
            first: HTTPSAnswer(.alias("b.example"), lifetime: 9),
            "b.example": HTTPSAnswer(.alias("b.example"), lifetime: 8),
        ])
        #expect(circle == .success(HTTPSRecordSet([], lifetime: 8)))
        #expect(round.count == 5)
        #expect(answer([first: HTTPSAnswer(.alias("c.example"), lifetime: 9)]).0 == .failure(.tryAgain))
        // Local names are not looked up, even if a record leads to them.
        for target in ["printer.local", "a.onion", "localhost", "intranet", "127.0.0.1"] {
            let (nowhere, asked) = answer([first: HTTPSAnswer(.alias(target), lifetime: 9)])
            #expect(nowhere == .success(HTTPSRecordSet([], lifetime: 9)))
            #expect(asked == [first])
            let service = HTTPSRecord(priority: 1, target: target, protocols: [Array("h3".utf8)])
            let (some, _) = answer([first: HTTPSAnswer(.services([service, record]), lifetime: 9)])
            #expect(some == .success(HTTPSRecordSet([record], lifetime: 9)))
        }
    }

    // CONN-6: the machine's settings take precedence over records
    @Test(
        "a host of the machine's own list is looked for nowhere else",
        arguments: [
            ("10.0.0.5 a.example", true), ("# none\n10.0.0.5\tb.example A.Example. # us\r\n", true),
            ("::1 localhost a.example", true), ("", false), ("10.0.0.5 b.example # a.example", false),
            ("a.example b.example", false), ("10.0.0.5 a.example.org www.a.example", false),
            ("#10.0.0.5 a.example", false),
        ])
    func hostsFile(text: String, isNamed: Bool) {
        for host in ["a.example", "a.example."] {
            var asked: [String] = []
            let query = HTTPSRecordLookup(HTTPSRecordQuery(host, port: 443), hosts: { HostsFile(Array(text.utf8)) }) {
                name in
                asked.append(name)
                return .success(HTTPSAnswer(.services([self.record]), lifetime: 60))
            }
            #expect(query.answer() == .success(isNamed ? .none : HTTPSRecordSet([record], lifetime: 60)))
            #expect(asked == (isNamed ? [] : ["a.example"]))
        }
    }
}

/// The same over the system's resolver and a name server of our own. Each test has a process and a network of its own.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .needsNameServer, .timeLimit(.minutes(1)))
struct SystemServiceResolutionTests {
    private func answer(
        about question: HTTPSRecordQuery, _ reply: @escaping @Sendable (NameServer.Question) -> NameServer.Answer
    ) async throws -> (HTTPSRecordAnswer, [NameServer.Question]) {
        try NetworkNamespace.raiseLoopback()
        let names = try NameServer(answering: reply)
        defer { names.stop() }
        let recorded = EventRecorder<HTTPSRecordAnswer>()
        let system = NameResolver()
        _ = system.findServices(question, on: EventLoops.assign()) { answer, _ in recorded.record(answer) }
        let answer = try #require(try await recorded.waitFor(count: 1, within: .seconds(30)).first)
        return (answer, names.questions)
    }

    private static let data: [UInt8] = [0, 1, 0, 0, 1, 0, 3, 2] + Array("h3".utf8)

    // CONN-6
    @Test("the system's name servers are asked for HTTPS records") func records() async throws {
        let (answer, asked) = try await answer(about: HTTPSRecordQuery("a.example", port: 443)) { _ in
            .records([Self.data], lifetime: 42)
        }
        let record = HTTPSRecord(priority: 1, target: "a.example", protocols: [Array("h3".utf8)])
        #expect(answer == .success(HTTPSRecordSet([record], lifetime: 42)))
        #expect(asked == [.init("a.example", .https)])
    }

    // CONN-6
    @Test("an alias is another query") func alias() async throws {
        let (answer, asked) = try await answer(about: HTTPSRecordQuery("a.example", port: 8443)) { question in
            let alias: [UInt8] = [0, 0, 1] + Array("b".utf8) + [7] + Array("example".utf8) + [0]
            return .records([question.name == "b.example" ? Self.data : alias], lifetime: 42)
        }
        let record = HTTPSRecord(priority: 1, target: "b.example", protocols: [Array("h3".utf8)])
        #expect(answer == .success(HTTPSRecordSet([record], lifetime: 42)))
        #expect(asked == [.init("_8443._https.a.example", .https), .init("b.example", .https)])
    }

    // CONN-6
    @Test("a name without records, and one that does not exist, have no services", arguments: [false, true])
    func nothing(exists: Bool) async throws {
        let (answer, asked) = try await answer(about: HTTPSRecordQuery("a.example", port: 443)) { _ in
            exists ? .nothing : .noSuchName
        }
        #expect(answer == .success(.none))
        #expect(asked == [.init("a.example", .https)])
    }

    // CONN-6: nothing that a name server sends does harm
    @Test("a server that fails, and a record that is none") func failures() async throws {
        let question = HTTPSRecordQuery("a.example", port: 443)
        let (failed, _) = try await answer(about: question) { _ in .failure }
        #expect(failed == .failure(NameFailure(code: -3)))
        let (broken, _) = try await answer(about: question) { _ in .records([[0, 1, 0xC0, 12]], lifetime: 1) }
        #expect(broken == .failure(NameFailure(code: -4)))
    }

    // CONN-6
    @Test("a server that sends nothing is awaited for a few seconds") func silence() async throws {
        let begin = ContinuousClock.now
        let (answer, asked) = try await answer(about: HTTPSRecordQuery("a.example", port: 443)) { _ in .silence }
        #expect(answer == .failure(NameFailure(code: -3)))
        #expect(asked.count == 2)
        #expect(ContinuousClock.now - begin < .seconds(15))
    }
}
