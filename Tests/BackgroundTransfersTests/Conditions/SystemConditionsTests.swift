import BackgroundTransfers
import Foundation
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

/// Power and metered networks (BG-16, BG-23).
@Suite(.needs("libdbus-1.so.3", of: "libdbus-1-3", dlopen("libdbus-1.so.3", RTLD_NOW) != nil), .leakChecked)
struct SystemConditionsTests {
    struct State: Equatable, Sendable {
        var allows: Bool
        var reason: SystemConditions.Waiting?

        static let good = State(allows: true)
        static let power = State(allows: false, reason: .power)
        static let metered = State(allows: false, reason: .metered)
        static let unknown = State(allows: false)
    }

    /// Used on the loop only.
    private final class Watcher: @unchecked Sendable {
        let stepped: SteppedLoop
        var conditions: SystemConditions?
        let states = EventRecorder<State>()

        init() throws { stepped = try SteppedLoop() }

        func watch(_ address: String?) async throws {
            let loop = stepped.loop
            try await stepped.run {
                let conditions = SystemConditions(on: loop, busAddress: address) { [unowned self] in
                    states.record(state)
                }
                self.conditions = conditions
                conditions.watch()
            }
        }

        func nextDeadline() async throws -> Int64 {
            let loop = stepped.loop
            return try await stepped.run { loop.nextDeadline }
        }

        func end() async throws { try await stepped.run { self.conditions?.unwatch() } }

        var state: State {
            State(allows: conditions?.allowsDiscretionary ?? false, reason: conditions?.reason)
        }
    }

    // BG-16, BG-23
    @Test(
        "mains power and unmetered networks are reported, with each change", .needs(.dbusDaemon), .needs(.dbusSend),
        .needs(.dbusmock))
    func daemons() async throws {
        let bus = try MessageBus()
        defer { bus.stop() }
        try bus.startUPower(onBattery: true)
        try bus.startNetworkManager(metered: 0)
        let watcher = try Watcher()
        try await watcher.watch(bus.address)
        var expected: [State] = [.power]
        func expectNext(_ state: State) async throws {
            if expected.last != state { expected.append(state) }
            #expect(try await watcher.states.waitUntil { $0.last == state } == expected)
        }
        _ = try await watcher.states.waitUntil { $0.last == .power }
        try bus.setOnBattery(false)
        _ = try await watcher.states.waitUntil { $0.last == .good }
        expected = watcher.states.events
        for (value, state) in [(1, State.metered), (2, .good), (3, .metered), (4, .good), (1, .metered)] {
            try bus.setMetered(UInt32(value))
            try await expectNext(state)
        }
        bus.end(MessageBus.networkManager)
        try await expectNext(.good)
        try bus.setOnBattery(true)
        try await expectNext(.power)
        try bus.startNetworkManager(metered: 2)
        try bus.setMetered(1)
        bus.end(MessageBus.upower)
        // That may be noticed before the other daemon has reported the meter.
        let last = try await watcher.states.waitUntil { $0.last == .metered }
        #expect([expected + [.metered], expected + [.good, .metered]].contains(last))
        expected = last
        // Nothing is waited for but signals.
        try await watcher.stepped.settle()
        #expect(try await watcher.nextDeadline() == .max)
        try await watcher.end()
        #expect(watcher.states.events == expected)
    }

    // BG-23
    @Test("without a bus, and without daemons, nothing is forbidden") func nothingThere() async throws {
        let watcher = try Watcher()
        try await watcher.watch(nil)
        #expect(try await watcher.states.waitFor(count: 1) == [.good])
        try await watcher.end()
        #expect(try await watcher.stepped.run { watcher.state } == .unknown)
        for address in ["unix:path=/nowhere/bus", "nonsense"] {
            let other = try Watcher()
            try await other.watch(address)
            #expect(try await other.states.waitFor(count: 1) == [.good])
            #expect(try await other.nextDeadline() == .max)
            try await other.end()
        }
        let bus = try ScriptedBus { call in
            switch call.member {
            case "GetNameOwner": [.error("org.freedesktop.DBus.Error.NameHasNoOwner")]
            case "StartServiceByName": [.error("org.freedesktop.DBus.Error.ServiceUnknown")]
            default: nil
            }
        }
        defer { bus.stop() }
        let third = try Watcher()
        try await third.watch(bus.address)
        #expect(try await third.states.waitFor(count: 1) == [.good])
        // UPower is started on demand, NetworkManager is not.
        #expect(bus.calls.filter { $0.member == "StartServiceByName" }.count == 1)
        try await third.end()
    }

    // BG-23
    @Test("a daemon that is there, and answers nonsense or nothing, forbids nothing")
    func badAnswers() async throws {
        let nonsense: [[ScriptedBus.Step]] = [
            [.reply([])], [.reply([.text("yes")])], [.reply([.variant(.text("yes"))])],
            [.reply([.variant(.variant(.variant(.boolean(true))))])], [.reply([.nested(20)])],
            [.error("org.example.No")], [.reply([.uint32(1)]), .reply([.boolean(true)])],
        ]
        for answer in nonsense {
            let bus = try ScriptedBus { $0.member == "Get" ? answer : nil }
            defer { bus.stop() }
            let watcher = try Watcher()
            try await watcher.watch(bus.address)
            let seen = try await watcher.states.waitUntil { $0.contains { $0.allows || $0.reason != nil } }
            // The last answer is the type of the other property, which counts for that one only.
            #expect(seen.last == .good || seen.last == .metered)
            try await watcher.end()
            try bus.waitForEnd()
        }
        let silent = try ScriptedBus { $0.member == "Get" ? [] : nil }
        defer { silent.stop() }
        let watcher = try Watcher()
        try await watcher.watch(silent.address)
        try silent.waitForCall(of: "Get", count: 2)
        try await watcher.stepped.settle()
        #expect(watcher.states.events.isEmpty)
        try await watcher.stepped.step(by: watcher.stepped.limits.busReply)
        #expect(watcher.states.events == [.good])
        try await watcher.end()
    }

    // BG-23
    @Test("a bus that takes no more clients forbids nothing") func hangingBus() async throws {
        var bus: HangingBus? = try HangingBus()
        let address = try #require(bus?.address)
        let watcher = try Watcher()
        try await watcher.watch(address)
        try await watcher.stepped.step(by: watcher.stepped.limits.busReply - 1)
        #expect(watcher.states.events.isEmpty)
        try await watcher.stepped.step(by: 1)
        #expect(watcher.states.events == [.good])
        try await watcher.end()
        // Connecting fails, and the thread that waits for it ends.
        bus = nil
        try await eventually { !ProcessResources.current.threads.contains { $0.name == "url-bus" } }
        try await watcher.stepped.settle()
        #expect(watcher.states.events == [.good])
    }

    // BG-23
    @Test("one thread waits for a bus that hangs, however often the bus is tried") func oneThread() async throws {
        var bus: HangingBus? = try HangingBus()
        let address = try #require(bus?.address)
        let watcher = try Watcher()
        for _ in 1...2 {
            try await watcher.watch(address)
            let (reply, retry) = (watcher.stepped.limits.busReply, watcher.stepped.limits.busRetry)
            // The first try, and six others with doubled delays.
            try await watcher.stepped.step(by: 7 * reply + 63 * retry)
            #expect(try await watcher.nextDeadline() == .max)
            try await watcher.end()
        }
        #expect(ProcessResources.current.threads.count { $0.name == "url-bus" } <= 1)
        bus = nil
        try await eventually { !ProcessResources.current.threads.contains { $0.name == "url-bus" } }
    }

    // BG-23
    @Test("signals of other programs are ignored")
    func signalsOfOtherPrograms() async throws {
        let bus = try ScriptedBus { $0.member == "Get" ? [.reply([.variant(.boolean(false))])] : nil }
        defer { bus.stop() }
        let watcher = try Watcher()
        try await watcher.watch(bus.address)
        try await watcher.states.waitFor(count: 1)
        let looks = { bus.calls.filter { $0.member == "Get" }.count }
        let before = looks()
        let changed = { (sender: String) in
            ScriptedBus.Step.signal(
                path: "/org/freedesktop/UPower", member: "PropertiesChanged", [], sender: sender)
        }
        for _ in 1...50 { bus.say(changed(":1.9")) }
        bus.say(
            .signal(
                path: "/org/freedesktop/DBus", member: "NameOwnerChanged",
                [.text("org.freedesktop.UPower"), .text(ScriptedBus.daemon), .text("")], sender: ":1.9"))
        bus.say(changed(ScriptedBus.daemon))
        try bus.waitForCall(of: "Get", count: before + 1)
        try await watcher.stepped.settle()
        #expect(looks() == before + 1)
        #expect(watcher.states.events == [.good])
        try await watcher.end()
    }

    // BG-23
    @Test("a bus that ends every connection is tried a few times, then left alone") func lostBus() async throws {
        let attacks: [[ScriptedBus.Step]] = [[.close], [.raw([UInt8](repeating: 0xFF, count: 4096)), .close]]
        for attack in attacks {
            let bus = try ScriptedBus { $0.member == "Hello" ? attack : nil }
            defer { bus.stop() }
            let watcher = try Watcher()
            try await watcher.watch(bus.address)
            try await watcher.states.waitFor(count: 1)
            for count in 1...7 {
                try await eventually { bus.connections == count }
                guard count < 7 else { break }
                let delay = watcher.stepped.limits.busRetry << Int64(count - 1)
                try await watcher.stepped.waitForTimer(in: delay)
                try await watcher.stepped.step(by: delay)
            }
            try await eventually { (try? await watcher.nextDeadline()) == Int64.max }
            #expect(bus.connections == 7)
            #expect(watcher.states.events == [.good])
            try await watcher.end()
        }
    }
}
