import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// The resolver over a book of names, and once over the system's.
@Suite struct NameResolverTests {
    private struct Heard: Equatable, Sendable {
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
    private let recorded = EventRecorder<Heard>()

    @discardableResult
    private func ask(
        _ resolver: NameResolver, _ host: String, _ family: SocketAddress.Family = .ipv4
    ) -> QueryTicket {
        resolver.resolve(AddressQuery(host, family), on: loop) { [recorded] answer, isRemembered in
            let addresses: [String]? = if case .success(let found) = answer { found.map { "\($0)" } } else { nil }
            recorded.record(Heard(host, addresses, isRemembered: isRemembered))
        }
    }

    // CONN-21
    @Test("the system's resolver knows this machine") func theSystemsResolverKnowsThisMachine() async throws {
        let system = NameResolver()
        ask(system, "localhost")
        #expect(try await recorded.waitFor(count: 1) == [Heard("localhost", ["127.0.0.1"])])
        ask(system, "no.such.host.invalid")
        #expect(try await recorded.waitFor(count: 2).last == Heard("no.such.host.invalid", nil))
    }

    // CONN-9: RFC 8305 §3
    @Test("the families are asked for apart") func theFamiliesAreAskedForApart() async throws {
        let book = NameBook(["a": ["10.0.0.1"]])
        book.hold("a", [.ipv6])
        let resolver = book.resolver()
        ask(resolver, "a", .ipv6)
        ask(resolver, "a", .ipv4)
        #expect(try await recorded.waitFor(count: 1) == [Heard("a", ["10.0.0.1"])])
        book.releaseAll()
        #expect(try await recorded.waitFor(count: 2) == [Heard("a", ["10.0.0.1"]), Heard("a", nil)])
    }

    // CONN-21
    @Test("who asks what is being asked shares its answer") func whoAsksWhatIsBeingAskedSharesItsAnswer() async throws {
        let book = NameBook(["a": ["10.0.0.1", "10.0.0.2"]])
        book.hold("a")
        let resolver = book.resolver()
        for _ in 0..<3 { ask(resolver, "a") }
        try await book.asked.waitFor(count: 1)
        ask(resolver, "a")
        book.releaseAll()
        let answer = Heard("a", ["10.0.0.1", "10.0.0.2"])
        #expect(try await recorded.waitFor(count: 4) == [answer, answer, answer, answer])
        #expect(book.asked.events == [AddressQuery("a", .ipv4)])
    }

    // CONN-15: time that other hosts' names take is not this one's
    @Test("ten slow lookups do not delay others") func tenHostsWithSlowNamesHoldUpNobodyElse() async throws {
        let book = NameBook(["quick": ["10.0.0.1"]])
        let resolver = book.resolver()
        for index in 0..<10 {
            book.hold("slow\(index)")
            ask(resolver, "slow\(index)", .ipv6)
            ask(resolver, "slow\(index)", .ipv4)
        }
        try await book.asked.waitFor(count: 20)
        ask(resolver, "quick")
        #expect(try await recorded.waitFor(count: 1) == [Heard("quick", ["10.0.0.1"])])
        book.releaseAll()
        try await recorded.waitFor(count: 21)
    }

    // CONN-21: no more threads than allowed, and none that has nothing to do
    @Test("threads come with need and go without") func threadsComeWithNeedAndGoWithout() async throws {
        let book = NameBook(["a": ["10.0.0.1"], "b": ["10.0.0.2"], "c": ["10.0.0.3"]])
        book.hold("a")
        book.hold("b")
        let resolver = book.resolver(mostThreads: 2, idleSeconds: 0)
        #expect(resolver.threadCount == 0)
        ask(resolver, "a")
        try await book.asked.waitFor(count: 1)
        #expect(resolver.threadCount == 1)
        ask(resolver, "b")
        try await book.asked.waitFor(count: 2)
        ask(resolver, "c")
        #expect(resolver.threadCount == 2)
        #expect(resolver.queuedQuestionCount == 1)
        book.release("b")
        #expect(try await recorded.waitFor(count: 2) == [Heard("b", ["10.0.0.2"]), Heard("c", ["10.0.0.3"])])
        book.release("a")
        try await recorded.waitFor(count: 3)
        try await eventually { resolver.threadCount == 0 }
        ask(resolver, "d")
        #expect(try await recorded.waitFor(count: 4).last == Heard("d", nil))
    }

    // T-5: a load that is cancelled leaves nothing behind
    @Test("a cancelled lookup is not started") func aQuestionThatNobodyWaitsForIsNotAsked() async throws {
        final class Kept: Sendable {}
        let book = NameBook(["slow": ["10.0.0.1"], "wanted": ["10.0.0.2"]])
        book.hold("slow")
        let resolver = book.resolver(mostThreads: 1)
        ask(resolver, "slow")
        try await book.asked.waitFor(count: 1)
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
        book.releaseAll()
        #expect(try await recorded.waitFor(count: 2) == [Heard("slow", ["10.0.0.1"]), Heard("wanted", ["10.0.0.2"])])
        #expect(book.asked.events == [AddressQuery("slow", .ipv4), AddressQuery("wanted", .ipv4)])
    }

    // T-5
    @Test("who withdraws hears nothing, and those who asked the same hear all")
    func whoWithdrawsHearsNothingAndThoseWhoAskedTheSameHearAll() async throws {
        let book = NameBook(["a": ["10.0.0.1"]])
        book.hold("a")
        let resolver = book.resolver()
        let never = EventRecorder<Int>()
        let ticket = resolver.resolve(AddressQuery("a", .ipv4), on: loop) { _, _ in never.record(0) }
        ask(resolver, "a")
        try await book.asked.waitFor(count: 1)
        ticket.withdraw()
        ticket.withdraw()
        book.releaseAll()
        #expect(try await recorded.waitFor(count: 1) == [Heard("a", ["10.0.0.1"])])
        let told = await loop.run { never.count }
        #expect(told == 0)
    }

    // CONN-20: an answer is remembered until it is forgotten
    @Test("an answer is asked for once") func anAnswerIsAskedForOnce() async throws {
        let book = NameBook(["a": ["10.0.0.1"], "b": ["10.0.0.9"]])
        let resolver = book.resolver()
        for host in ["a", "b"] {
            ask(resolver, host)
            _ = try await recorded.wait(for: Heard(host, host == "a" ? ["10.0.0.1"] : ["10.0.0.9"]))
        }
        book.set("a", ["10.0.0.2"])
        ask(resolver, "a")
        #expect(try await recorded.waitFor(count: 3).last == Heard("a", ["10.0.0.1"], isRemembered: true))
        resolver.forget("a")
        ask(resolver, "a")
        #expect(try await recorded.waitFor(count: 4).last == Heard("a", ["10.0.0.2"]))
        ask(resolver, "b")
        #expect(try await recorded.waitFor(count: 5).last == Heard("b", ["10.0.0.9"], isRemembered: true))
        resolver.forgetAnswers()
        ask(resolver, "b")
        #expect(try await recorded.waitFor(count: 6).last == Heard("b", ["10.0.0.9"]))
        #expect(book.asked.events.map(\.host) == ["a", "b", "a", "b"])
    }

    // CONN-18: what was asked before a flush is not for those who come after it
    @Test("an answer from before a flush is not remembered") func anAnswerFromBeforeAFlushIsNotRemembered() async throws
    {
        let book = NameBook(["a": ["10.0.0.1"]])
        book.hold("a")
        let resolver = book.resolver()
        ask(resolver, "a")
        try await book.asked.waitFor(count: 1)
        resolver.forgetAnswers()
        ask(resolver, "a")
        try await book.asked.waitFor(count: 2)
        book.releaseAll()
        #expect(try await recorded.waitFor(count: 2) == [Heard("a", ["10.0.0.1"]), Heard("a", ["10.0.0.1"])])
        #expect(book.asked.count == 2)
    }

    // CONN-21
    @Test("an answer never comes before the question returns") func anAnswerNeverComesBeforeTheQuestionReturns()
        async throws
    {
        let book = NameBook(["a": ["10.0.0.1"]])
        let resolver = book.resolver()
        ask(resolver, "a")
        try await recorded.waitFor(count: 1)
        let before = await loop.run { [recorded] in
            _ = resolver.resolve(AddressQuery("a", .ipv4), on: loop) { _, isRemembered in
                recorded.record(Heard("again", nil, isRemembered: isRemembered))
            }
            return recorded.count
        }
        #expect(before == 1)
        #expect(try await recorded.waitFor(count: 2).last == Heard("again", nil, isRemembered: true))
    }
}
