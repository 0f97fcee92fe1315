import Foundation
import LoadingTransport
import TestSupport
import Testing

typealias Browsing = BrowseEvent<ServiceName>

/// With a scripted bus, so without Avahi.
@Suite(.needs("libdbus-1.so.3", of: "libdbus-1-3", dlopen("libdbus-1.so.3", RTLD_NOW) != nil), .leakChecked)
struct ServiceDiscoveryTests {
    static func item(
        _ name: String, _ type: String = "_http._tcp", _ domain: String = "local", interface: Int32 = 1,
        family: Int32 = 0
    ) -> [ScriptedBus.Value] {
        [.int32(interface), .int32(family), .text(name), .text(type), .text(domain), .uint32(0)]
    }

    static func found(
        address: String = "127.0.0.1", host: String = "host.local", port: UInt16 = 80, text: [[UInt8]] = [],
        interface: Int32 = 1
    ) -> [ScriptedBus.Value] {
        item("one", interface: interface).dropLast() + [
            .text(host), .int32(0), .text(address), .uint16(port), .byteArrays(text), .uint32(0),
        ]
    }

    static let one = ServiceName(instance: "one", type: "_http._tcp", domain: "local")

    /// The path of the only browser.
    private static let path = "/browser"

    private static func browsing(
        _ steps: [ScriptedBus.Step] = []
    ) throws -> (ScriptedBus, EventRecorder<Browsing>, DiscoveryOperation) {
        let bus = try ScriptedBus { $0.member == "ServiceBrowserNew" ? [.reply([.path(path)])] + steps : nil }
        let events = EventRecorder<Browsing>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .browse(type: "_http._tcp.", domain: "") { events.record($0) }
        return (bus, events, operation)
    }

    // STREAM-10
    @Test("a service is found once, and removed when no interface has it") func browse() throws {
        let (bus, events, operation) = try Self.browsing([
            .signal(path: Self.path, member: "ItemNew", Self.item("one")),
            .signal(path: Self.path, member: "ItemNew", Self.item("one", family: 1)),
            .signal(path: Self.path, member: "ItemNew", Self.item("two", interface: 2)),
            .signal(path: Self.path, member: "AllForNow", []),
            .signal(path: Self.path, member: "ItemRemove", Self.item("one")),
            .signal(path: Self.path, member: "ItemRemove", Self.item("one")),
            .signal(path: Self.path, member: "ItemRemove", Self.item("unknown")),
            .signal(path: Self.path, member: "ItemRemove", Self.item("one", family: 1)),
        ])
        defer { bus.stop() }
        let two = ServiceName(instance: "two", type: "_http._tcp", domain: "local")
        #expect(
            try events.wait(for: .removed(Self.one)) == [
                .began, .found(Self.one), .found(two), .completeForNow, .removed(Self.one),
            ])
        #expect(
            bus.calls.map(\.member) == [
                "Hello", "AddMatch", "AddMatch", "GetNameOwner", "ServiceBrowserNew",
            ])
        operation.cancel()
        try bus.waitForEnd()
        #expect(events.count == 5)
    }

    // STREAM-10
    @Test("signals that come before the daemon's reply count") func early() throws {
        let bus = try ScriptedBus { call in
            guard call.member == "ServiceBrowserNew" else { return nil }
            return [.signal(path: Self.path, member: "ItemNew", Self.item("one")), .reply([.path(Self.path)])]
        }
        defer { bus.stop() }
        let events = EventRecorder<Browsing>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .browse(type: "_http._tcp", domain: "local.") { events.record($0) }
        defer { operation.cancel() }
        #expect(try events.waitFor(count: 2) == [.began, .found(Self.one)])
    }

    // STREAM-10
    @Test("signals of other programs do not count") func signalsOfOtherPrograms() throws {
        let (bus, events, operation) = try Self.browsing([
            .signal(path: Self.path, member: "ItemNew", Self.item("forged"), sender: ":1.99"),
            .signal(
                path: "/", member: "NameOwnerChanged",
                [.text("org.freedesktop.Avahi"), .text(ScriptedBus.daemon), .text("")], sender: ":1.99"),
            .signal(path: "/other", member: "ItemNew", Self.item("of another object")),
            .signal(path: Self.path, member: "Unknown", []),
            .signal(path: Self.path, member: "ItemNew", Self.item("one")),
        ])
        defer { bus.stop() }
        defer { operation.cancel() }
        #expect(try events.waitFor(count: 2) == [.began, .found(Self.one)])
    }

    // STREAM-10
    @Test("names have any text of 1 to 63 bytes; others are ignored") func names() throws {
        let names = ["\u{1}\n\t\u{7F}", "🔑 Ωλ.\\._http._tcp", String(repeating: "x", count: 63), "a.b\\032c"]
        let (bus, events, operation) = try Self.browsing(
            (["", String(repeating: "x", count: 64)] + names).map {
                .signal(path: Self.path, member: "ItemNew", Self.item($0))
            } + [.signal(path: Self.path, member: "ItemNew", Self.item("bad type", "http"))]
                + [.signal(path: Self.path, member: "ItemNew", Self.item("last"))])
        defer { bus.stop() }
        defer { operation.cancel() }
        let expected = (names + ["last"]).map {
            Browsing.found(ServiceName(instance: $0, type: "_http._tcp", domain: "local"))
        }
        #expect(try events.waitFor(count: 6) == [.began] + expected)
    }

    // STREAM-10
    @Test("a flood of services has a limit") func flood() throws {
        let (bus, events, operation) = try Self.browsing(
            (0..<5000).map { .signal(path: Self.path, member: "ItemNew", Self.item("\($0)")) }
                + [.signal(path: Self.path, member: "AllForNow", [])])
        defer { bus.stop() }
        defer { operation.cancel() }
        #expect(try events.wait(for: .completeForNow).count == 4096 + 2)
    }

    /// An LCG with Knuth's constants.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }
    }

    // STREAM-10
    @Test("signals of any form are ignored or read, and do no harm") func anyForm() throws {
        // Always the same values.
        var numbers = Generator(state: 1)
        func value() -> ScriptedBus.Value {
            switch Int.random(in: 0..<8, using: &numbers) {
            case 0: .uint16(.random(in: 0 ... .max, using: &numbers))
            case 1: .int32(.random(in: .min ... .max, using: &numbers))
            case 2: .uint32(.random(in: 0 ... .max, using: &numbers))
            case 3: .text(String(repeating: "x", count: .random(in: 0..<80, using: &numbers)))
            case 4: .path("/")
            case 5: .byteArrays([[], [1], Array(repeating: 0, count: .random(in: 0..<600, using: &numbers))])
            case 6: .nested(.random(in: 1..<30, using: &numbers))
            default: .texts([])
            }
        }
        let members = ["ItemNew", "ItemRemove", "AllForNow", "CacheExhausted", "Unknown"]
        let steps = (0..<2000).map { number in
            ScriptedBus.Step.signal(
                path: Self.path, member: members[number % members.count], (0..<(number % 9)).map { _ in value() })
        }
        let (bus, events, operation) = try Self.browsing(
            steps + [.signal(path: Self.path, member: "ItemNew", Self.item("one"))])
        defer { bus.stop() }
        defer { operation.cancel() }
        #expect(try events.wait(for: .found(Self.one)).allSatisfy { if case .failed = $0 { false } else { true } })
    }

    // MARK: Failures

    // STREAM-10
    @Test("what is missing is named in one sentence") func missing() throws {
        let folder = try TemporaryDirectory()
        let address = "unix:path=\(folder.path)/absent"
        let events = EventRecorder<Browsing>()
        let operation = ServiceDiscovery(busAddress: address)
            .browse(type: "_http._tcp", domain: "") { events.record($0) }
        let failure = DiscoveryFailure.busMissing(address: address)
        #expect(try events.waitFor(count: 1) == [.failed(failure)])
        #expect(failure.reason.contains("no D-Bus system bus at \(address): install and start dbus"))
        #expect(DiscoveryFailure.daemonMissing.reason.contains("install and start avahi-daemon"))
        withExtendedLifetime(operation) {}
    }

    // STREAM-10
    @Test(
        "a bus that cannot start Avahi means that Avahi is missing",
        arguments: [
            "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.Spawn.ChildExited",
            "org.freedesktop.systemd1.NoSuchUnit",
        ]) func noDaemon(error: String) throws
    {
        let bus = try ScriptedBus { call in
            switch call.member {
            case "GetNameOwner": [.error("org.freedesktop.DBus.Error.NameHasNoOwner")]
            case "StartServiceByName": [.error(error)]
            default: nil
            }
        }
        defer { bus.stop() }
        let events = EventRecorder<ResolveEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .resolve(Self.one, timeout: nil) { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.failed(.daemonMissing)])
        try bus.waitForEnd()
        withExtendedLifetime(operation) {}
    }

    // STREAM-10
    @Test("Avahi is started if the bus can do it") func startsDaemon() throws {
        let isStarted = Watched(false)
        let bus = try ScriptedBus { call in
            switch call.member {
            case "GetNameOwner" where !isStarted.current: return [.error("org.freedesktop.DBus.Error.NameHasNoOwner")]
            case "StartServiceByName":
                isStarted.withValue { $0 = true }
                return nil
            default: return nil
            }
        }
        defer { bus.stop() }
        let events = EventRecorder<Browsing>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .browse(type: "_http._tcp", domain: "") { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.began])
        #expect(
            bus.calls.map(\.member).drop { $0 != "GetNameOwner" } == [
                "GetNameOwner", "StartServiceByName", "GetNameOwner", "ServiceBrowserNew",
            ])
        operation.cancel()
    }

    // STREAM-10
    @Test(
        "invalid names, types and domains are refused without a bus",
        arguments: [
            ("", "_http._tcp", "local"), (String(repeating: "x", count: 64), "_http._tcp", "local"),
            ("a\0b", "_http._tcp", "local"), ("a", "_http", "local"), ("a", "http._tcp", "local"),
            ("a", "_http._sctp", "local"), ("a", "", "local"), ("a", "_ht\0tp._tcp", "local"),
            ("a", "_http._tcp", String(repeating: "x", count: 256)), ("a", "_http._tcp", "lo\0cal"),
        ]) func invalid(name: String, type: String, domain: String) throws
    {
        let events = EventRecorder<ResolveEvent>()
        let operation = ServiceDiscovery(busAddress: "unix:path=/absent")
            .resolve(ServiceName(instance: name, type: type, domain: domain), timeout: nil) { events.record($0) }
        #expect(events.events == [.failed(.invalidArgument)])
        operation.cancel()
    }

    /// What a hostile bus does instead of answering.
    enum Attack: String, CaseIterable, Sendable {
        case closes, garbage, endlessMessage, longMessage, wrongName, noValues, wrongType, nested, otherPath

        var steps: [ScriptedBus.Step] {
            switch self {
            case .closes: [.close]
            case .garbage: [.raw(Array(repeating: 0xFF, count: 4096))]
            // A header that announces 2 GiB.
            case .endlessMessage: [.raw([UInt8(ascii: "l"), 4, 1, 1, 0, 0, 0, 0x7F, 1, 0, 0, 0, 0, 0, 0, 0])]
            case .longMessage:
                [
                    .signal(
                        path: "/browser", member: "ItemNew",
                        [.byteArrays(Array(repeating: Array(repeating: 1, count: 1024), count: 512))])
                ]
            case .wrongName: [.reply([.text("no path")])]
            case .noValues: [.reply([])]
            case .wrongType: [.reply([.int32(-1)])]
            case .nested: [.reply([.nested(30)])]
            case .otherPath: [.reply([.texts(Array(repeating: "/", count: 20_000))])]
            }
        }

        /// Whether the connection cannot go on.
        var endsConnection: Bool {
            switch self {
            case .closes, .garbage, .endlessMessage, .longMessage: true
            case .wrongName, .noValues, .wrongType, .nested, .otherPath: false
            }
        }
    }

    // STREAM-10
    @Test("broken replies are a failure", arguments: Attack.allCases, ["GetNameOwner", "ServiceBrowserNew"])
    func broken(attack: Attack, method: String) throws {
        let bus = try ScriptedBus { $0.member == method ? attack.steps : nil }
        defer { bus.stop() }
        let events = EventRecorder<Browsing>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .browse(type: "_http._tcp", domain: "") { events.record($0) }
        // A name has any text, so the daemon has a name that nothing comes from.
        if attack == .wrongName, method == "GetNameOwner" {
            #expect(try events.waitFor(count: 1) == [.began])
        } else {
            #expect(
                try events.waitFor(count: 1) == [.failed(attack.endsConnection ? .connectionLost : .unexpectedReply)])
        }
        operation.cancel()
        try bus.waitForEnd()
    }

    // STREAM-10
    @Test("the end of the daemon is a failure of what is resolved") func ownerChanged() throws {
        let bus = try ScriptedBus {
            $0.member == "ServiceResolverNew" ? [.reply([.path("/resolver")]), Self.daemonChanges("")] : nil
        }
        defer { bus.stop() }
        let events = EventRecorder<ResolveEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .resolve(Self.one, findsAddresses: false, timeout: nil) { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.failed(.connectionLost)])
        try bus.waitForEnd()
        // The daemon's end has freed its object.
        #expect(bus.calls.filter { $0.member == "Free" } == [])
        withExtendedLifetime(operation) {}
    }

    /// The daemon's name on the bus is another one; empty if it has ended.
    static func daemonChanges(_ name: String) -> ScriptedBus.Step {
        .signal(
            path: "/org/freedesktop/DBus", member: "NameOwnerChanged",
            [.text("org.freedesktop.Avahi"), .text(ScriptedBus.daemon), .text(name)], sender: ScriptedBus.busName)
    }

    // STREAM-10: also where another daemon takes the name at once
    @Test("a search goes on when the daemon is back", arguments: [false, true])
    func daemonIsBack(isReplaced: Bool) throws {
        let (bus, events, operation) = try Self.browsing([
            .signal(path: Self.path, member: "ItemNew", Self.item("one")),
            .signal(path: Self.path, member: "ItemNew", Self.item("one", family: 1)),
        ])
        defer { bus.stop() }
        #expect(try events.waitFor(count: 2) == [.began, .found(Self.one)])
        if !isReplaced {
            bus.say(Self.daemonChanges(""))
            #expect(try events.waitFor(count: 3).last == .removed(Self.one))
        }
        bus.say(Self.daemonChanges(":1.8"))
        try bus.waitForCall(of: "ServiceBrowserNew", count: 2)
        // What the old daemon still says does not count.
        bus.say(
            .signal(path: Self.path, member: "ItemNew", Self.item("old")),
            .signal(path: Self.path, member: "ItemNew", Self.item("two"), sender: ":1.8"))
        let two = ServiceName(instance: "two", type: "_http._tcp", domain: "local")
        #expect(
            try events.wait(for: .found(two)) == [.began, .found(Self.one), .removed(Self.one), .found(two)])
        operation.cancel()
        try bus.waitForEnd()
    }

    // STREAM-10
    @Test("without the daemon a search waits, and new operations report what is missing") func daemonStaysAway() throws
    {
        let isAway = Watched(false)
        let bus = try ScriptedBus { call in
            switch call.member {
            case "ServiceBrowserNew": [.reply([.path(Self.path)])]
            case "GetNameOwner" where isAway.current: [.error("org.freedesktop.DBus.Error.NameHasNoOwner")]
            case "StartServiceByName": [.error("org.freedesktop.DBus.Error.ServiceUnknown")]
            default: nil
            }
        }
        defer { bus.stop() }
        let discovery = ServiceDiscovery(busAddress: bus.address)
        let events = EventRecorder<Browsing>()
        let search = discovery.browse(type: "_http._tcp", domain: "") { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.began])
        isAway.withValue { $0 = true }
        bus.say(Self.daemonChanges(""))
        for count in 1...2 {
            var resolved = EventRecorder<ResolveEvent>()
            var operation = discovery.resolve(Self.one, timeout: nil) { [resolved] in resolved.record($0) }
            // One that began before the end of the daemon was noticed ends with it.
            if count == 1, try resolved.waitFor(count: 1) != [.failed(.daemonMissing)] {
                resolved = EventRecorder()
                operation = discovery.resolve(Self.one, timeout: nil) { [resolved] in resolved.record($0) }
            }
            #expect(try resolved.waitFor(count: 1) == [.failed(.daemonMissing)])
            // The bus was asked to start it.
            try bus.waitForCall(of: "StartServiceByName", count: count)
            withExtendedLifetime(operation) {}
        }
        isAway.withValue { $0 = false }
        bus.say(Self.daemonChanges(":1.8"))
        try bus.waitForCall(of: "ServiceBrowserNew", count: 2)
        #expect(events.events == [.began])
        search.cancel()
        try bus.waitForEnd()
    }

    // STREAM-10
    @Test(
        "errors of Avahi have their meaning",
        arguments: [
            ("org.freedesktop.Avahi.InvalidServiceTypeError", DiscoveryFailure.invalidArgument),
            ("org.freedesktop.Avahi.NotFoundError", .notFound),
            ("org.freedesktop.Avahi.TooManyObjectsError", .refused("org.freedesktop.Avahi.TooManyObjectsError")),
            ("org.freedesktop.DBus.Error.AccessDenied", .refused("org.freedesktop.DBus.Error.AccessDenied")),
            ("org.freedesktop.DBus.Error.NoReply", .connectionLost),
        ]) func errors(name: String, failure: DiscoveryFailure) throws
    {
        let bus = try ScriptedBus { $0.member == "ServiceBrowserNew" ? [.error(name)] : nil }
        defer { bus.stop() }
        let events = EventRecorder<Browsing>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .browse(type: "_http._tcp", domain: "") { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.failed(failure)])
        withExtendedLifetime(operation) {}
    }

    // MARK: Resolving

    /// A bus whose resolvers, one for each address family, get these signals.
    private static func resolving(_ ipv4: [ScriptedBus.Step], _ ipv6: [ScriptedBus.Step] = []) throws -> ScriptedBus {
        let count = Watched(0)
        return try ScriptedBus { call in
            guard call.member == "ServiceResolverNew" else { return nil }
            let number = count.withValue { count in
                defer { count += 1 }
                return count
            }
            return [.reply([.path("/r\(number)")])] + (number == 0 ? ipv4 : number == 1 ? ipv6 : [])
        }
    }

    private static func address(_ text: String, _ port: UInt16 = 80) throws -> SocketAddress {
        try #require(SocketAddress(literal: text, port: port))
    }

    // STREAM-10
    @Test("addresses are collected, and those of another host replace them") func resolve() throws {
        let bus = try Self.resolving(
            [
                .signal(path: "/r0", member: "Found", Self.found(text: [[0x61], [0xFF, 0]])),
                .signal(path: "/r0", member: "Found", Self.found(text: [[0x61], [0xFF, 0]])),
                .signal(path: "/r0", member: "Found", Self.found(address: "127.0.0.2")),
            ],
            [
                .signal(path: "/r1", member: "Found", Self.found(address: "fe80::1", interface: 7)),
                .signal(path: "/r1", member: "Found", Self.found(address: "::1", host: "other.local", port: 81)),
            ])
        defer { bus.stop() }
        let events = EventRecorder<ResolveEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .resolve(Self.one, timeout: nil) { events.record($0) }
        defer { operation.cancel() }
        let first = ResolvedService(
            host: "host.local", port: 80, addresses: [try Self.address("127.0.0.1")], text: [[0x61], [0xFF, 0]])
        var second = first
        second.addresses.append(try Self.address("127.0.0.2"))
        second.text = []
        var third = second
        third.addresses.append(try Self.address("fe80::1%7"))
        let fourth = ResolvedService(
            host: "other.local", port: 81, addresses: [try Self.address("::1", 81)], text: [])
        #expect(
            try events.waitFor(count: 4) == [first, second, third, fourth].map { .resolved($0) })
    }

    // STREAM-10
    @Test("a silent network is a timeout, and what was found before is no failure") func timeouts() throws {
        let bus = try Self.resolving([])
        defer { bus.stop() }
        let events = EventRecorder<ResolveEvent>()
        let discovery = ServiceDiscovery(busAddress: bus.address)
        let first = discovery.resolve(Self.one, timeout: 50_000_000) { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.failed(.timedOut)])
        try bus.waitForEnd()
        let other = try Self.resolving([.signal(path: "/r0", member: "Found", Self.found())])
        defer { other.stop() }
        let more = EventRecorder<ResolveEvent>()
        let second = ServiceDiscovery(busAddress: other.address)
            .resolve(Self.one, timeout: 300_000_000) { more.record($0) }
        let found = ResolvedService(
            host: "host.local", port: 80, addresses: [try Self.address("127.0.0.1")], text: [])
        #expect(try more.waitFor(count: 2) == [.resolved(found), .finished(found)])
        withExtendedLifetime((first, second)) {}
    }

    // STREAM-10
    @Test("a bus that does not answer is a timeout too") func silentBus() throws {
        let bus = try ScriptedBus { _ in [] }
        defer { bus.stop() }
        let events = EventRecorder<ResolveEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .resolve(Self.one, timeout: 50_000_000) { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.failed(.timedOut)])
        #expect(bus.calls.map(\.member) == ["Hello"])
        withExtendedLifetime(operation) {}
    }

    // STREAM-10
    @Test("a bus that takes no more clients is a timeout too, and one thread waits for it") func hangingBus() throws {
        var bus: HangingBus? = try HangingBus()
        let address = try #require(bus?.address)
        let discovery = ServiceDiscovery(busAddress: address)
        func failure(within timeout: Int64?) throws -> [ResolveEvent] {
            let events = EventRecorder<ResolveEvent>()
            let operation = discovery.resolve(Self.one, timeout: timeout) { events.record($0) }
            return try withExtendedLifetime(operation) { try events.waitFor(count: 1) }
        }
        for _ in 0..<3 { #expect(try failure(within: 20_000_000) == [.failed(.timedOut)]) }
        #expect(ProcessResources.current.threads.count { $0.name == "url-bus" } <= 1)
        bus = nil
        #expect(try failure(within: nil) == [.failed(.busMissing(address: address))])
    }

    // STREAM-10
    @Test("the daemon is asked again after it gave up, until the timeout") func retry() throws {
        let timeout: [ScriptedBus.Value] = [.text("org.freedesktop.Avahi.TimeoutError")]
        let bus = try Self.resolving(
            [.signal(path: "/r0", member: "Failure", timeout)], [.signal(path: "/r1", member: "Failure", timeout)])
        defer { bus.stop() }
        let events = EventRecorder<ResolveEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .resolve(Self.one, timeout: nil) { events.record($0) }
        try bus.waitForCall(of: "ServiceResolverNew", count: 4)
        #expect(try bus.waitForCall(of: "Free", count: 2).map(\.path) == ["/r0", "/r1"])
        bus.say(.signal(path: "/r3", member: "Found", Self.found()))
        #expect(try events.waitFor(count: 1).count == 1)
        operation.cancel()
    }

    /// The arguments of `Found`, each broken in one place.
    static let brokenServices: [[ScriptedBus.Value]] = [
        [], [.int32(1)], Array(found().dropLast()), found() + [.uint32(0)],
        (0..<11).map { _ in .int32(1) },
        Array(found().dropLast(2)) + [.texts(["path=/x"]), .uint32(0)],
        Array(found().dropLast(2)) + [.nested(20), .uint32(0)],
        // A string that is too long, and strings that are too many.
        found(text: [Array(repeating: 0x61, count: 256)]),
        found(text: Array(repeating: Array(repeating: 0x61, count: 255), count: 300)),
    ]

    // STREAM-10
    @Test("services of another form are a failure of both families", arguments: brokenServices.indices)
    func brokenService(index: Int) throws {
        let broken = Self.brokenServices[index]
        let bus = try Self.resolving(
            [.signal(path: "/r0", member: "Found", broken)], [.signal(path: "/r1", member: "Found", broken)])
        defer { bus.stop() }
        let events = EventRecorder<ResolveEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .resolve(Self.one, timeout: nil) { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.failed(.unexpectedReply)])
        withExtendedLifetime(operation) {}
    }

    // STREAM-1, STREAM-10
    @Test("an endpoint has an address of each family, or of one after a moment") func endpoint() throws {
        let ipv4 = ScriptedBus.Step.signal(path: "/r0", member: "Found", Self.found())
        let ipv6 = ScriptedBus.Step.signal(path: "/r1", member: "Found", Self.found(address: "::1"))
        let none = ScriptedBus.Step.signal(path: "/r0", member: "Found", Self.found(address: "no address"))
        let table: [([ScriptedBus.Step], [ScriptedBus.Step], Result<[String], DiscoveryFailure>)] = [
            ([ipv4], [ipv6], .success(["127.0.0.1", "::1"])), ([ipv4], [], .success(["127.0.0.1"])),
            ([], [ipv6], .success(["::1"])), ([none], [], .failure(.notFound)), ([], [], .failure(.timedOut)),
        ]
        for (first, second, expected) in table {
            let bus = try Self.resolving(first, second)
            let results = EventRecorder<Result<[String], DiscoveryFailure>>()
            let operation = ServiceDiscovery(busAddress: bus.address)
                .endpoint(of: Self.one, timeout: 500_000_000) { result in
                    results.record(result.map { $0.addresses.map(\.description) })
                }
            #expect(try results.waitFor(count: 1) == [expected])
            try bus.waitForEnd()
            #expect(results.count == 1)
            withExtendedLifetime(operation) {}
            bus.stop()
        }
    }

    // MARK: Publishing

    private static func state(_ state: Int32, _ error: String = "") -> ScriptedBus.Step {
        .signal(path: "/group", member: "StateChanged", [.int32(state), .text(error)])
    }

    /// A bus on which the name of the first commit is taken, after these steps, and the next one is not.
    private static func collidingOnce(
        _ steps: [ScriptedBus.Step] = [], others: @escaping @Sendable (ScriptedBus.Call) -> [ScriptedBus.Step]?
    ) throws -> ScriptedBus {
        let commits = Watched(0)
        return try ScriptedBus { call in
            switch call.member {
            case "EntryGroupNew": return [.reply([.path("/group")])]
            case "Commit":
                let count = commits.withValue { commits in
                    commits += 1
                    return commits
                }
                return [.reply([])] + steps + [Self.state(count == 1 ? 3 : 2)]
            case "GetAlternativeServiceName": return [.reply([.text("one #2")])]
            default: return others(call)
            }
        }
    }

    // STREAM-10
    @Test("a name that is taken is changed, if it may be", arguments: [true, false])
    func collision(mayRename: Bool) throws {
        let bus = try Self.collidingOnce([Self.state(1)]) { _ in nil }
        defer { bus.stop() }
        let events = EventRecorder<PublishEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .publish(Self.one, port: 80, text: [], mayRename: mayRename) { events.record($0) }
        var renamed = Self.one
        renamed.instance = "one #2"
        #expect(try events.waitFor(count: 1) == [mayRename ? .published(renamed) : .failed(.collision)])
        operation.cancel()
    }

    // STREAM-10
    @Test("a daemon for which every name is taken is not asked without end") func endlessCollision() throws {
        let bus = try ScriptedBus { call in
            switch call.member {
            case "EntryGroupNew": [.reply([.path("/group")])]
            case "AddService": [.error("org.freedesktop.Avahi.CollisionError")]
            case "GetAlternativeServiceName": [.reply([.text("name \(UInt64.random(in: 0 ... .max))")])]
            default: nil
            }
        }
        defer { bus.stop() }
        let events = EventRecorder<PublishEvent>()
        let operation = ServiceDiscovery(busAddress: bus.address)
            .publish(Self.one, port: 80, text: [], mayRename: true) { events.record($0) }
        #expect(try events.waitFor(count: 1) == [.failed(.collision)])
        #expect(bus.calls.count { $0.member == "AddService" } == 65)
        withExtendedLifetime(operation) {}
    }

    // STREAM-10: another service with the name may come at any time
    @Test("a TXT record that is replaced while the name is changed is no failure") func updateWhileRenaming() throws {
        let discovery = Watched<ServiceDiscovery?>(nil)
        let operation = Watched<PublishOperation?>(nil)
        let bus = try Self.collidingOnce { call in
            switch call.member {
            case "Reset":
                // Until this has its reply, the daemon has no service in the group.
                try? operation.wait(for: "the operation", until: { $0 }).update(text: [[1]])
                // An operation that begins after the update, and ends at once, without the bus.
                let ends = EventRecorder<ResolveEvent>()
                let other = discovery.current?.resolve(Self.one, timeout: 0) { ends.record($0) }
                _ = try? ends.waitFor(count: 1)
                withExtendedLifetime(other) {}
                return [.reply([])]
            case "UpdateServiceTxt": return [.error("org.freedesktop.Avahi.NotFoundError")]
            default: return nil
            }
        }
        defer { bus.stop() }
        let own = ServiceDiscovery(busAddress: bus.address)
        discovery.withValue { $0 = own }
        let events = EventRecorder<PublishEvent>()
        let published = own.publish(Self.one, port: 80, text: [], mayRename: true) { events.record($0) }
        operation.withValue { $0 = published }
        var renamed = Self.one
        renamed.instance = "one #2"
        #expect(try events.waitFor(count: 1) == [.published(renamed)])
        #expect(!bus.calls.contains { $0.member == "UpdateServiceTxt" })
        published.cancel()
        try bus.waitForEnd()
    }

    // MARK: The process

    // STREAM-10
    @Test("the process's signals stay as they are") func signals() throws {
        // A libdbus that cannot send without it has the process ignore it.
        let before = signal(SIGPIPE, SIG_DFL)
        let (bus, events, operation) = try Self.browsing()
        try events.waitFor(count: 1)
        operation.cancel()
        try bus.waitForEnd()
        bus.stop()
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        #expect(action.__sigaction_handler.sa_handler == nil)
        signal(SIGPIPE, before)
    }

    // MARK: Ends

    // STREAM-10
    @Test("a cancelled operation has no event, and the thread ends with the last one") func cancel() throws {
        let (bus, events, operation) = try Self.browsing()
        defer { bus.stop() }
        try events.waitFor(count: 1)
        let discovery = ServiceDiscovery(busAddress: bus.address)
        for _ in 0..<100 {
            discovery.browse(type: "_http._tcp", domain: "") { _ in Issue.record("an event of a cancelled one") }
                .cancel()
        }
        operation.cancel()
        operation.cancel()
        bus.say(.signal(path: Self.path, member: "ItemNew", Self.item("one")))
        try bus.waitForEnd()
        #expect(events.events == [.began])
    }
}
