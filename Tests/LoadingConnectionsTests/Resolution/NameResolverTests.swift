import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// The resolver over a table of names, and once over the system's.
@Suite struct NameResolverTests {
    private struct Answer: Equatable, Sendable {
        let host: String
        let addresses: [String]?
        let isRemembered: Bool

        init(_ host: String, _ addresses: [String]?, isRemembered: Bool = false) {
            self.host = host
            self.addresses = addresses
            self.isRemembered = isRemembered
        }
    }

    private let loop = EventLoops.assign()
    private let recorded = EventRecorder<Answer>()

    @discardableResult
    private func ask(
        _ resolver: NameResolver, _ host: String, _ family: SocketAddress.Family = .ipv4
    ) -> QueryTicket {
        resolver.resolve(AddressQuery(host, family), on: loop) { [recorded] answer, isRemembered in
            let addresses: [String]? = if case .success(let found) = answer { found.map { "\($0)" } } else { nil }
            recorded.record(Answer(host, addresses, isRemembered: isRemembered))
        }
    }

    // CONN-21
    @Test("the system's resolver resolves this machine") func theSystemsResolverResolvesThisMachine() async throws {
        let system = NameResolver()
        ask(system, "localhost")
        #expect(try await recorded.waitFor(count: 1) == [Answer("localhost", ["127.0.0.1"])])
        ask(system, "no.such.host.invalid")
        #expect(try await recorded.waitFor(count: 2).last == Answer("no.such.host.invalid", nil))
    }

    // CONN-9: RFC 8305 §3
    @Test("the families are asked for apart") func theFamiliesAreAskedForApart() async throws {
        let hosts = HostTable(["a": ["10.0.0.1"]])
        hosts.hold("a", [.ipv6])
        let resolver = hosts.resolver()
        ask(resolver, "a", .ipv6)
        ask(resolver, "a", .ipv4)
        #expect(try await recorded.waitFor(count: 1) == [Answer("a", ["10.0.0.1"])])
        hosts.releaseAll()
        #expect(try await recorded.waitFor(count: 2) == [Answer("a", ["10.0.0.1"]), Answer("a", nil)])
    }

    // CONN-21
    @Test("equal queries share one lookup") func equalQueriesShareOneLookup() async throws {
        let hosts = HostTable(["a": ["10.0.0.1", "10.0.0.2"]])
        hosts.hold("a")
        let resolver = hosts.resolver()
        for _ in 0..<3 { ask(resolver, "a") }
        try await hosts.asked.waitFor(count: 1)
        ask(resolver, "a")
        hosts.releaseAll()
        let answer = Answer("a", ["10.0.0.1", "10.0.0.2"])
        #expect(try await recorded.waitFor(count: 4) == [answer, answer, answer, answer])
        #expect(hosts.asked.events == [AddressQuery("a", .ipv4)])
    }

    // CONN-15: time that other hosts' names take is not this one's
    @Test("ten slow lookups do not delay others") func tenSlowLookupsDoNotDelayOthers() async throws {
        let hosts = HostTable(["quick": ["10.0.0.1"]])
        let resolver = hosts.resolver()
        for index in 0..<10 {
            hosts.hold("slow\(index)")
            ask(resolver, "slow\(index)", .ipv6)
            ask(resolver, "slow\(index)", .ipv4)
        }
        try await hosts.asked.waitFor(count: 20)
        ask(resolver, "quick")
        #expect(try await recorded.waitFor(count: 1) == [Answer("quick", ["10.0.0.1"])])
        hosts.releaseAll()
        try await recorded.waitFor(count: 21)
    }

    // CONN-21: no more threads than allowed, and none that has nothing to do
    @Test("threads come with need and go without") func threadsComeWithNeedAndGoWithout() async throws {
        let hosts = HostTable(["a": ["10.0.0.1"], "b": ["10.0.0.2"], "c": ["10.0.0.3"]])
        hosts.hold("a")
        hosts.hold("b")
        let resolver = hosts.resolver(mostThreads: 2, idleSeconds: 0)
        #expect(resolver.threadCount == 0)
        ask(resolver, "a")
        try await hosts.asked.waitFor(count: 1)
        #expect(resolver.threadCount == 1)
        ask(resolver, "b")
        try await hosts.asked.waitFor(count: 2)
        ask(resolver, "c")
        #expect(resolver.threadCount == 2)
        #expect(resolver.queuedQuestionCount == 1)
        hosts.release("b")
        #expect(try await recorded.waitFor(count: 2) == [Answer("b", ["10.0.0.2"]), Answer("c", ["10.0.0.3"])])
        hosts.release("a")
        try await recorded.waitFor(count: 3)
        try await eventually { resolver.threadCount == 0 }
        ask(resolver, "d")
        #expect(try await recorded.waitFor(count: 4).last == Answer("d", nil))
    }

    // T-5: a load that is cancelled leaves nothing behind
    @Test("a cancelled lookup is not started") func aCancelledLookupIsNotStarted() async throws {
        final class Kept: Sendable {}
        let hosts = HostTable(["slow": ["10.0.0.1"], "wanted": ["10.0.0.2"]])
        hosts.hold("slow")
        let resolver = hosts.resolver(mostThreads: 1)
        ask(resolver, "slow")
        try await hosts.asked.waitFor(count: 1)
        weak var kept: Kept?
        var tickets: [QueryTicket] = []
        do {
            let held = Kept()
            kept = held
            for index in 0..<100 {
                tickets.append(
                    resolver.resolve(AddressQuery("gone\(index)", .ipv4), on: loop) { _, _ in
                        withExtendedLifetime(held) {}
                    })
            }
        }
        ask(resolver, "wanted")
        #expect(resolver.queuedQuestionCount == 101)
        for ticket in tickets { ticket.withdraw() }
        #expect(resolver.queuedQuestionCount == 1)
        #expect(kept == nil)
        hosts.releaseAll()
        #expect(try await recorded.waitFor(count: 2) == [Answer("slow", ["10.0.0.1"]), Answer("wanted", ["10.0.0.2"])])
        #expect(hosts.asked.events == [AddressQuery("slow", .ipv4), AddressQuery("wanted", .ipv4)])
    }

    // T-5
    @Test("a withdrawn query gets no answer, and equal queries get theirs")
    func aWithdrawnQueryGetsNoAnswerAndEqualQueriesGetTheirs() async throws {
        let hosts = HostTable(["a": ["10.0.0.1"]])
        hosts.hold("a")
        let resolver = hosts.resolver()
        let never = EventRecorder<Int>()
        let ticket = resolver.resolve(AddressQuery("a", .ipv4), on: loop) { _, _ in never.record(0) }
        ask(resolver, "a")
        try await hosts.asked.waitFor(count: 1)
        ticket.withdraw()
        ticket.withdraw()
        hosts.releaseAll()
        #expect(try await recorded.waitFor(count: 1) == [Answer("a", ["10.0.0.1"])])
        let count = await loop.run { never.count }
        #expect(count == 0)
    }

    // CONN-20: an answer is remembered until it is forgotten
    @Test("an answer is asked for once") func anAnswerIsAskedForOnce() async throws {
        let hosts = HostTable(["a": ["10.0.0.1"], "b": ["10.0.0.9"]])
        let resolver = hosts.resolver()
        for host in ["a", "b"] {
            ask(resolver, host)
            _ = try await recorded.wait(for: Answer(host, host == "a" ? ["10.0.0.1"] : ["10.0.0.9"]))
        }
        hosts.set("a", ["10.0.0.2"])
        ask(resolver, "a")
        #expect(try await recorded.waitFor(count: 3).last == Answer("a", ["10.0.0.1"], isRemembered: true))
        resolver.forget("a")
        ask(resolver, "a")
        #expect(try await recorded.waitFor(count: 4).last == Answer("a", ["10.0.0.2"]))
        ask(resolver, "b")
        #expect(try await recorded.waitFor(count: 5).last == Answer("b", ["10.0.0.9"], isRemembered: true))
        resolver.forgetAnswers()
        ask(resolver, "b")
        #expect(try await recorded.waitFor(count: 6).last == Answer("b", ["10.0.0.9"]))
        #expect(hosts.asked.events.map(\.host) == ["a", "b", "a", "b"])
    }

    // CONN-18: what was asked before a flush is not for later queries
    @Test("an answer from before a flush is not remembered") func anAnswerFromBeforeAFlushIsNotRemembered() async throws
    {
        let hosts = HostTable(["a": ["10.0.0.1"]])
        hosts.hold("a")
        let resolver = hosts.resolver()
        ask(resolver, "a")
        try await hosts.asked.waitFor(count: 1)
        resolver.forgetAnswers()
        ask(resolver, "a")
        try await hosts.asked.waitFor(count: 2)
        hosts.releaseAll()
        #expect(try await recorded.waitFor(count: 2) == [Answer("a", ["10.0.0.1"]), Answer("a", ["10.0.0.1"])])
        #expect(hosts.asked.count == 2)
    }

    // CONN-21
    @Test("an answer never comes before the query returns") func anAnswerNeverComesBeforeTheQuestionReturns()
        async throws
    {
        let hosts = HostTable(["a": ["10.0.0.1"]])
        let resolver = hosts.resolver()
        ask(resolver, "a")
        try await recorded.waitFor(count: 1)
        let before = await loop.run { [recorded] in
            _ = resolver.resolve(AddressQuery("a", .ipv4), on: loop) { _, isRemembered in
                recorded.record(Answer("again", nil, isRemembered: isRemembered))
            }
            return recorded.count
        }
        #expect(before == 1)
        #expect(try await recorded.waitFor(count: 2).last == Answer("again", nil, isRemembered: true))
    }
}
