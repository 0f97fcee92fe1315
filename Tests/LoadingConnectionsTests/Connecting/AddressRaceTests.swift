import Glibc
import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Races over real sockets on loopback, with names of a table.
@Suite struct AddressRaceTests {
    /// How a race ended.
    private enum Outcome: Equatable, Sendable {
        /// With a connection to this address.
        case connected(String)
        case failed(LoadError)
        case noDescriptor
    }

    private let stepped: SteppedLoop
    private var loop: EventLoop { stepped.loop }
    private let hosts = HostTable()
    private let resolver: NameResolver
    private let outcomes = EventRecorder<Outcome>()
    private let events = EventRecorder<LoadEvent>()

    init() throws {
        stepped = try SteppedLoop()
        resolver = hosts.resolver()
    }

    /// Starts a race, which is given to `hold` on its loop.
    private func start(
        _ host: String, _ port: Int, hold: @escaping @Sendable (AddressRace<ByteStream>) -> Void = { _ in }
    ) async {
        await loop.run { [loop, resolver, outcomes, events] in
            let origin = ConnectionKey(isSecure: false, host: host, port: UInt16(port))
            let race = AddressRace(to: origin, on: loop, resolver: resolver)
            hold(race)
            race.start(
                record: { events.record(LoadEvent(time: EventLog.now, kind: $0)) },
                outcome: { result in
                    switch result {
                    case .success(let stream):
                        outcomes.record(.connected(stream.remoteAddress.map { "\($0)" } ?? "nowhere"))
                        stream.close()
                    case .failure(let error) where error.isDescriptorShortage: outcomes.record(.noDescriptor)
                    case .failure(let error): outcomes.record(.failed(error))
                    }
                })
        }
    }

    private func race(_ host: String, _ port: Int) async throws -> Outcome {
        let count = outcomes.count
        await start(host, port)
        return try await outcomes.waitFor(count: count + 1)[count]
    }

    private var kinds: [LoadEvent.Kind] { events.events.map(\.kind) }

    // CONN-9: RFC 8305 §4, IPv6 first
    @Test("both families answer") func bothFamiliesAnswer() async throws {
        let server = try ScriptedServer(.dualStack, steps: [.waitForClose])
        defer { server.stop() }
        hosts.set("both", ["127.0.0.1", "::1"])
        try await remember("both")
        #expect(try await race("both", server.port) == .connected("::1"))
        #expect(
            kinds == [
                .resolutionStarted(host: "both"), .resolutionEnded(addresses: 1), .connectStarted(address: "::1"),
            ])
    }

    // CONN-9
    @Test("an address instead of a name", arguments: [Loopback.ipv4, .ipv6]) func anAddressInsteadOfAName(
        address: Loopback
    ) async throws {
        var options = ScriptedServer.Options()
        options.addresses = [address]
        let server = try ScriptedServer(options, steps: [.waitForClose])
        defer { server.stop() }
        let literal = address == .ipv4 ? "127.0.0.1" : "::1"
        #expect(try await race(literal, server.port) == .connected(literal))
        #expect(kinds == [.connectStarted(address: literal)])
        #expect(hosts.asked.count == 0)
    }

    // CONN-9: a refusal is no reason to wait
    @Test("the first address refuses") func theFirstAddressRefuses() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let refusing = try RefusingPort(on: .ipv6, port: server.port)
        defer { withExtendedLifetime(refusing) {} }
        hosts.set("half", ["127.0.0.1", "::1"])
        #expect(try await race("half", server.port) == .connected("127.0.0.1"))
        #expect(kinds.suffix(2) == [.connectStarted(address: "::1"), .connectStarted(address: "127.0.0.1")])
    }

    // CONN-9: RFC 8305 §5, the next address after a quarter of a second
    @Test("the first address is silent") func theFirstAddressIsSilent() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let silent = try SaturatedPort(on: .ipv6, port: server.port)
        defer { withExtendedLifetime(silent) {} }
        hosts.set("half", ["127.0.0.1", "::1"])
        await start("half", server.port)
        try await events.waitUntil { $0.last?.kind == .connectStarted(address: "::1") }
        try await stepped.step(by: TimeLimits.milliseconds(250) - 1)
        #expect(kinds.last == .connectStarted(address: "::1"))
        try await stepped.step(by: 1)
        #expect(try await outcomes.waitFor(count: 1) == [.connected("127.0.0.1")])
        #expect(kinds.suffix(2) == [.connectStarted(address: "::1"), .connectStarted(address: "127.0.0.1")])
    }

    // CONN-9: RFC 8305 §3, IPv4 goes ahead when the answer about IPv6 takes more than 50 ms
    @Test("the answer about IPv6 is slow") func theAnswerAboutIPv6IsSlow() async throws {
        let server = try ScriptedServer(.dualStack, steps: [.waitForClose])
        defer { server.stop() }
        hosts.set("slow", ["127.0.0.1", "::1"])
        hosts.hold("slow", [.ipv6])
        await start("slow", server.port)
        try await events.waitUntil { $0.last?.kind == .resolutionEnded(addresses: 1) }
        try await stepped.step(by: TimeLimits.milliseconds(50) - 1)
        #expect(kinds.last == .resolutionEnded(addresses: 1))
        try await stepped.step(by: 1)
        #expect(try await outcomes.waitFor(count: 1) == [.connected("127.0.0.1")])
        hosts.releaseAll()
        #expect(
            kinds == [
                .resolutionStarted(host: "slow"), .resolutionEnded(addresses: 1),
                .connectStarted(address: "127.0.0.1"),
            ])
    }

    // CONN-9: without waiting
    @Test("there is no IPv6") func thereIsNoIPv6() async throws {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        hosts.set("four", ["127.0.0.1"])
        #expect(try await race("four", server.port) == .connected("127.0.0.1"))
        #expect(try await race("four", server.port) == .connected("127.0.0.1"))
        // What is known of both families is asked for once.
        #expect(hosts.asked.count == 2)
    }

    // CONN-12, ERR-5
    @Test("every address refuses") func everyAddressRefuses() async throws {
        let refusing = try RefusingPort(on: [.ipv4, .ipv6])
        hosts.set("none", ["127.0.0.1", "::1"])
        #expect(try await race("none", refusing.port) == .failed(.cannotConnectToHost(ECONNREFUSED)))
        #expect(try await race("127.0.0.1", refusing.port) == .failed(.cannotConnectToHost(ECONNREFUSED)))
    }

    // ERR-5
    @Test("no such name") func noSuchName() async throws {
        #expect(try await race("unknown", 80) == .failed(.cannotFindHost(-2)))
        #expect(kinds == [.resolutionStarted(host: "unknown"), .resolutionEnded(addresses: 0)])
    }

    // CONN-12, CONN-14: without a way out it is not the name that is to blame
    @Test("name servers that cannot be asked", .inNetworkNamespace, .needsNetworkNamespace)
    func nameServersThatCannotBeAsked() async throws {
        for family in [SocketAddress.Family.ipv4, .ipv6] {
            hosts.set(AddressQuery("any", family), .failure(.tryAgain))
        }
        #expect(!RouteWatch.hasRoute)
        #expect(try await race("any", 80) == .failed(LoadError(code: -1009, cause: .dns(EAI_AGAIN))))
        try NetworkNamespace.raiseLoopback()
        #expect(!RouteWatch.hasRoute)
        #expect(try await race("any", 80) == .failed(LoadError(code: -1009, cause: .dns(EAI_AGAIN))))
        // As a bridge for containers is there with no network beyond it.
        try NetworkNamespace.addInterface()
        #expect(!RouteWatch.hasRoute)
        #expect(try await race("any", 80) == .failed(LoadError(code: -1009, cause: .dns(EAI_AGAIN))))
        try NetworkNamespace.ip("route", "add", "default", "dev", "out")
        #expect(RouteWatch.hasRoute)
        #expect(try await race("any", 80) == .failed(.cannotFindHost(EAI_AGAIN)))
    }

    // CONN-14: the resolver needs descriptors as well
    @Test("no descriptor for the resolver", arguments: [EMFILE, ENFILE, EAGAIN]) func noDescriptorForTheResolver(
        code: Int32
    )
        async throws
    {
        for family in [SocketAddress.Family.ipv4, .ipv6] {
            hosts.set(AddressQuery("any", family), .failure(NameFailure(code: EAI_SYSTEM, posixCode: code)))
        }
        #expect(try await race("any", 80) == .noDescriptor)
    }

    // CONN-20: the machine has moved; this very load finds it
    @Test("remembered addresses that refuse are asked for anew") func rememberedAddressesThatRefuseAreAskedForAnew()
        async throws
    {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let refusing = try RefusingPort(on: .ipv6, port: server.port)
        defer { withExtendedLifetime(refusing) {} }
        hosts.set("moved", ["::1"])
        try await remember("moved")
        hosts.set("moved", ["::1", "127.0.0.1"])
        #expect(try await race("moved", server.port) == .connected("127.0.0.1"))
        // The address that refused was not tried twice.
        #expect(
            kinds == [
                .resolutionStarted(host: "moved"), .resolutionEnded(addresses: 1), .connectStarted(address: "::1"),
                .connectStarted(address: "127.0.0.1"),
            ])
        #expect(hosts.asked.count == 4)
    }

    // CONN-20: the host has moved, and an address of another machine swallows everything
    @Test("remembered addresses that refuse and are silent") func rememberedAddressesThatRefuseAndAreSilent()
        async throws
    {
        let server = try ScriptedServer(steps: [.waitForClose])
        defer { server.stop() }
        let silent = try SaturatedPort(on: .ipv6, port: server.port)
        defer { withExtendedLifetime(silent) {} }
        hosts.set("moved", ["::1", "127.0.0.9"])
        try await remember("moved")
        hosts.set("moved", ["::1", "127.0.0.1"])
        await start("moved", server.port)
        try await events.waitUntil { $0.last?.kind == .connectStarted(address: "::1") }
        try await stepped.step(by: loop.limits.attemptDelay)
        try await events.waitUntil { $0.last?.kind == .connectStarted(address: "127.0.0.9") }
        try await stepped.step(by: loop.limits.addressSilence - 1)
        #expect(hosts.asked.count == 2)
        try await stepped.step(by: 1)
        #expect(try await outcomes.waitFor(count: 1) == [.connected("127.0.0.1")])
        #expect(hosts.asked.count == 4)
    }

    // CONN-20, CONN-12: the first failure is reported when there is nothing new
    @Test("remembered addresses that refuse and are still the same")
    func rememberedAddressesThatRefuseAndAreStillTheSame() async throws {
        let refusing = try RefusingPort()
        hosts.set("same", ["127.0.0.1"])
        try await remember("same")
        #expect(try await race("same", refusing.port) == .failed(.cannotConnectToHost(ECONNREFUSED)))
        #expect(hosts.asked.count == 4)
        #expect(kinds.filter { $0 == .connectStarted(address: "127.0.0.1") }.count == 1)
        // They are not used a second time.
        #expect(try await race("same", refusing.port) == .failed(.cannotConnectToHost(ECONNREFUSED)))
        #expect(hosts.asked.count == 6)
    }

    // CONN-20: an answer that was just got is not asked for again at once
    @Test("new addresses that refuse") func newAddressesThatRefuse() async throws {
        let refusing = try RefusingPort()
        hosts.set("new", ["127.0.0.1"])
        #expect(try await race("new", refusing.port) == .failed(.cannotConnectToHost(ECONNREFUSED)))
        #expect(hosts.asked.count == 2)
        #expect(try await race("new", refusing.port) == .failed(.cannotConnectToHost(ECONNREFUSED)))
        #expect(hosts.asked.count == 4)
    }

    // CONN-20: silence as long as a second is no answer either
    @Test("after a long wait for a silent address, names are resolved again")
    func longSilenceResolvesAgain() async throws {
        let silent = try SaturatedPort()
        hosts.set("silent", ["127.0.0.1"])
        try await remember("silent")
        #expect(hosts.asked.count == 2)
        for hasWaitedLong in [false, true] {
            let started = Watched<LoopBox<AddressRace<ByteStream>>?>(nil)
            await start("silent", silent.port) { race in started.withValue { $0 = LoopBox(race) } }
            _ = try await events.waitUntil { events in
                events.filter { $0.kind == .connectStarted(address: "127.0.0.1") }.count == (hasWaitedLong ? 2 : 1)
            }
            if hasWaitedLong { try await stepped.step(by: loop.limits.addressSilence + 1) }
            await loop.run { started.current?.value.cancel() }
            // Names are resolved again only after the long silence. The IPv6 query may be repeated: that there is no
            // such address is remembered only beside an IPv4 address, and the race may have ended before that query
            // began.
            try await remember("silent")
            #expect(hosts.asked.events.filter { $0.family == .ipv4 }.count == (hasWaitedLong ? 2 : 1))
        }
        #expect(outcomes.count == 0)
    }

    // T-5: a race that is given up leaves nothing behind, and reports nothing
    @Test("a cancelled race") func aCancelledRace() async throws {
        let silent = try SaturatedPort()
        hosts.hold("held")
        for host in ["127.0.0.1", "held"] {
            let isClean = await loop.run { [loop, resolver, outcomes] in
                let before = [loop.registrationCount, loop.armedTimerCount]
                let origin = ConnectionKey(isSecure: false, host: host, port: UInt16(silent.port))
                let race = AddressRace(to: origin, on: loop, resolver: resolver)
                race.start(record: { _ in }, outcome: { _ in outcomes.record(.noDescriptor) })
                race.cancel()
                return [loop.registrationCount, loop.armedTimerCount] == before
            }
            #expect(isClean)
        }
        hosts.releaseAll()
        let count = await loop.run { [outcomes] in outcomes.count }
        #expect(count == 0)
    }

    /// Has the resolver know a host's addresses.
    private func remember(_ host: String) async throws {
        let answers = EventRecorder<Bool>()
        for family in [SocketAddress.Family.ipv4, .ipv6] {
            _ = resolver.resolve(AddressQuery(host, family), on: loop) { _, isRemembered in
                answers.record(isRemembered)
            }
        }
        try await answers.waitFor(count: 2)
    }
}
