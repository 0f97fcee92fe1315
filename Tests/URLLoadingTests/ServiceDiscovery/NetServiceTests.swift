import Foundation
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// With a scripted bus, so without Avahi.
@Suite(.needs("libdbus-1.so.3", of: "libdbus-1-3", dlopen("libdbus-1.so.3", RTLD_NOW) != nil), .leakChecked)
struct NetServiceTests {
    private typealias Event = NetServiceRecorder.Event

    static func service(
        on bus: ScriptedBus, _ name: String = "one", type: String = "_http._tcp.", port: Int32 = -1
    ) -> NetService {
        NetService(
            domain: "local.", type: type, name: name, port: port,
            discovery: ServiceDiscovery(busAddress: bus.address))
    }

    static func found(
        _ address: String = "127.0.0.1", host: String = "host.local", port: UInt16 = 8080, text: [String] = []
    ) -> [ScriptedBus.Value] {
        [
            .int32(1), .int32(0), .text("one"), .text("_http._tcp"), .text("local"), .text(host), .int32(0),
            .text(address), .uint16(port), .byteArrays(text.map { Array($0.utf8) }), .uint32(0),
        ]
    }

    /// Resolvers get no path of their own, so that signals are for the last one.
    static func resolvingBus(_ steps: [ScriptedBus.Step] = []) throws -> ScriptedBus {
        try ScriptedBus { $0.member == "ServiceResolverNew" ? [.reply([.path("/r")])] + steps : nil }
    }

    // STREAM-10
    @Test("a resolved service has host, port, addresses and TXT record, and stops once") func resolve() throws {
        let bus = try Self.resolvingBus([.signal(path: "/r", member: "Found", Self.found(text: ["path=/x", "b"]))])
        defer { bus.stop() }
        let service = Self.service(on: bus)
        #expect(service.port == -1)
        #expect(service.addresses == nil && service.hostName == nil && service.txtRecordData() == nil)
        let recorder = NetServiceRecorder()
        service.delegate = recorder
        service.resolve(withTimeout: 0)
        service.resolve(withTimeout: 0)
        let resolved = Event.didResolve(["127.0.0.1"], 8080)
        #expect(
            try recorder.events.waitFor(count: 3) == [
                .willResolve, .didNotResolve(NetService.ErrorCode.activityInProgress.rawValue), resolved,
            ])
        #expect(service.hostName == "host.local.")
        #expect(service.port == 8080)
        let text = try #require(service.txtRecordData())
        #expect(NetService.dictionary(fromTXTRecord: text) == ["path": Data("/x".utf8), "b": Data()])
        service.stop()
        service.stop()
        try bus.waitForEnd()
        #expect(try recorder.events.waitFor(count: 4).last == .didStop)
        // Addresses that are known serve a stream task without another lookup.
        let endpoint = EventRecorder<Result<ResolvedService, DiscoveryFailure>>()
        #expect(service.lookup.start(timeout: nil) { endpoint.record($0) } == nil)
        #expect(try endpoint.events.map { try $0.get().port } == [8080])
    }

    // STREAM-10
    @Test("timeouts, and what is missing, have their codes and a reason") func failures() throws {
        let bus = try Self.resolvingBus()
        let service = Self.service(on: bus)
        let recorder = NetServiceRecorder()
        service.delegate = recorder
        service.resolve(withTimeout: 0.05)
        let timeout = NetService.ErrorCode.timeoutError.rawValue
        #expect(try recorder.events.waitFor(count: 2) == [.willResolve, .didNotResolve(timeout)])
        #expect(service.failureReason == DiscoveryFailure.timedOut.reason)
        bus.stop()

        let absent = "unix:path=/absent/bus"
        let other = NetService(
            domain: "", type: "_http._tcp", name: "one", port: -1, discovery: ServiceDiscovery(busAddress: absent))
        let otherRecorder = NetServiceRecorder()
        other.delegate = otherRecorder
        other.resolve(withTimeout: 5)
        let missing = NetService.ErrorCode.missingRequiredConfigurationError.rawValue
        #expect(try otherRecorder.events.waitFor(count: 2) == [.willResolve, .didNotResolve(missing)])
        #expect(other.failureReason == DiscoveryFailure.busMissing(address: absent).reason)

        let invalid = NetService(domain: "", type: "http", name: "one")
        let invalidRecorder = NetServiceRecorder()
        invalid.delegate = invalidRecorder
        invalid.resolve(withTimeout: 5)
        invalid.publish()
        let bad = NetService.ErrorCode.badArgumentError.rawValue
        #expect(
            try invalidRecorder.events.waitFor(count: 4) == [
                .willResolve, .didNotResolve(bad), .willPublish, .didNotPublish(bad),
            ])
    }

    // STREAM-10
    @Test("a stopped service has no late callbacks, and a released one stops") func stop() throws {
        let bus = try Self.resolvingBus([.signal(path: "/r", member: "Found", Self.found())])
        defer { bus.stop() }
        let entered = Signal("the callback")
        let left = Signal("its end")
        let recorder = NetServiceRecorder { event in
            guard case .didResolve = event, !entered.isFired else { return }
            entered.fire()
            try? left.wait()
        }
        var service: NetService? = Self.service(on: bus)
        service?.delegate = recorder
        service?.resolve(withTimeout: 0)
        try entered.wait()
        // While the queue is busy, another address is found, and its callback is due.
        bus.say(.signal(path: "/r", member: "Found", Self.found("127.0.0.2")))
        let copy = try #require(service)
        while (copy.addresses?.count ?? 0) < 2 { sched_yield() }
        service?.stop()
        left.fire()
        try bus.waitForEnd()
        #expect(try recorder.events.wait(for: .didStop).count { if case .didResolve = $0 { true } else { false } } == 1)
        service = nil

        let other = try Self.resolvingBus()
        defer { other.stop() }
        func resolveAndRelease() throws {
            let released = Self.service(on: other)
            released.delegate = recorder
            released.resolve(withTimeout: 0)
            released.startMonitoring()
            try other.waitForCall(of: "ServiceResolverNew", count: 3)
        }
        try resolveAndRelease()
        try other.waitForEnd()
    }

    // STREAM-10
    @Test("the TXT record is followed while it is monitored") func monitor() throws {
        let bus = try Self.resolvingBus([.signal(path: "/r", member: "Found", Self.found("", text: ["a=1"]))])
        defer { bus.stop() }
        let service = Self.service(on: bus)
        let recorder = NetServiceRecorder()
        service.delegate = recorder
        service.startMonitoring()
        service.startMonitoring()
        try recorder.events.waitFor(count: 1)
        bus.say(.signal(path: "/r", member: "Found", Self.found("", text: ["a=1"])))
        bus.say(.signal(path: "/r", member: "Found", Self.found("", text: ["a=2"])))
        #expect(try recorder.events.waitFor(count: 2) == [.text(["a": "1"]), .text(["a": "2"])])
        #expect(bus.calls.count { $0.member == "ServiceResolverNew" } == 1)
        #expect(service.txtRecordData() == NetService.data(fromTXTRecord: ["a": Data("2".utf8)]))
        service.stopMonitoring()
        try bus.waitForEnd()
        #expect(recorder.events.count == 2)
    }

    // STREAM-10: others in the local network decide how often it changes
    @Test("a delegate that is slow gets the last of several TXT records") func slowMonitor() throws {
        let bus = try Self.resolvingBus([.signal(path: "/r", member: "Found", Self.found("", text: ["a=1"]))])
        defer { bus.stop() }
        let entered = Signal("the callback")
        let left = Signal("its end")
        let recorder = NetServiceRecorder { _ in
            entered.fire()
            try? left.wait()
        }
        let service = Self.service(on: bus)
        service.delegate = recorder
        service.startMonitoring()
        try entered.wait()
        for value in 2...4 { bus.say(.signal(path: "/r", member: "Found", Self.found("", text: ["a=\(value)"]))) }
        let last = NetService.data(fromTXTRecord: ["a": Data("4".utf8)])
        while service.txtRecordData() != last { sched_yield() }
        left.fire()
        #expect(try recorder.events.waitFor(count: 2) == [.text(["a": "1"]), .text(["a": "4"])])
        service.stopMonitoring()
        try bus.waitForEnd()
        #expect(recorder.events.count == 2)
    }

    // STREAM-10
    @Test("a delegate that is set while a service is resolved gets later changes") func laterDelegate() throws {
        // Keeps the shared queue busy, and has its second callback after those that are due meanwhile.
        let entered = Signal("the callback")
        let left = Signal("its end")
        let busy = NetServiceRecorder { _ in
            entered.fire()
            try? left.wait()
        }
        let invalid = NetService(domain: "", type: "_http._tcp", name: "one", port: -1)
        invalid.delegate = busy
        invalid.publish()
        try entered.wait()
        let bus = try Self.resolvingBus([.signal(path: "/r", member: "Found", Self.found("127.0.0.1"))])
        defer { bus.stop() }
        let service = Self.service(on: bus)
        service.resolve(withTimeout: 0)
        try bus.waitForCall(of: "ServiceResolverNew", count: 2)
        bus.say(.signal(path: "/r", member: "Found", Self.found("127.0.0.2")))
        while (service.addresses?.count ?? 0) < 2 { sched_yield() }
        left.fire()
        try busy.events.waitFor(count: 2)
        let recorder = NetServiceRecorder()
        service.delegate = recorder
        bus.say(.signal(path: "/r", member: "Found", Self.found("127.0.0.3")))
        // Each of the two families reports what it has found, so the second address may come once more.
        _ = try recorder.events.waitUntil { $0.last == .didResolve(["127.0.0.1", "127.0.0.2", "127.0.0.3"], 8080) }
        service.stop()
        try bus.waitForEnd()
    }

    // STREAM-10
    @Test("a service is published with its TXT record, which may change") func publish() throws {
        let bus = try ScriptedBus { call in
            switch call.member {
            case "EntryGroupNew": [.reply([.path("/g")])]
            case "Commit": [.reply([]), .signal(path: "/g", member: "StateChanged", [.int32(2), .text("")])]
            default: nil
            }
        }
        defer { bus.stop() }
        let service = Self.service(on: bus, type: "_http._tcp,_printer,_scanner", port: 80)
        let recorder = NetServiceRecorder()
        service.delegate = recorder
        #expect(service.setTXTRecord(NetService.data(fromTXTRecord: ["a": Data("1".utf8)])))
        #expect(!service.setTXTRecord(Data([5, 1])))
        service.publish()
        #expect(try recorder.events.waitFor(count: 2) == [.willPublish, .didPublish("one")])
        #expect(service.setTXTRecord(nil))
        try bus.waitForCall(of: "UpdateServiceTxt")
        #expect(
            bus.calls.map(\.member).drop { $0 != "EntryGroupNew" } == [
                "EntryGroupNew", "AddService", "AddServiceSubtype", "AddServiceSubtype", "Commit", "UpdateServiceTxt",
            ])
        service.stop()
        #expect(try recorder.events.waitFor(count: 3).last == .didStop)
        for (port, options) in [(-1, []), (70_000, []), (80, .listenForConnections)] as [(Int32, NetService.Options)] {
            let refused = Self.service(on: bus, port: port)
            let recorder = NetServiceRecorder()
            refused.delegate = recorder
            refused.publish(options: options)
            let code = NetService.ErrorCode.badArgumentError.rawValue
            #expect(try recorder.events.waitFor(count: 2) == [.willPublish, .didNotPublish(code)])
        }
        try bus.waitForEnd()
    }

    // STREAM-10
    @Test("records and dictionaries are each other's reverse; an invalid key makes no record") func records() {
        let values = ["a": Data("1".utf8), "b": Data(), "c": Data([0, 255])]
        #expect(NetService.dictionary(fromTXTRecord: NetService.data(fromTXTRecord: values)) == values)
        #expect(NetService.data(fromTXTRecord: ["a=": Data()]) == Data())
        #expect(NetService.dictionary(fromTXTRecord: Data([200, 1])) == [:])
    }
}
