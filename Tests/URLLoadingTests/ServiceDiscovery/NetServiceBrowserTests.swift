import Foundation
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// With a scripted bus, so without Avahi.
@Suite(.needs("libdbus-1.so.3", of: "libdbus-1-3", dlopen("libdbus-1.so.3", RTLD_NOW) != nil), .leakChecked)
struct NetServiceBrowserTests {
    static func item(_ name: String) -> [ScriptedBus.Value] {
        [.int32(1), .int32(0), .text(name), .text("_http._tcp"), .text("local"), .uint32(0)]
    }

    private static func domain(_ name: String) -> [ScriptedBus.Value] {
        [.int32(1), .int32(0), .text(name), .uint32(0)]
    }

    private static func browser(on bus: ScriptedBus) -> NetServiceBrowser {
        NetServiceBrowser(discovery: ServiceDiscovery(busAddress: bus.address))
    }

    static func bus(_ steps: [ScriptedBus.Step] = []) throws -> ScriptedBus {
        try ScriptedBus { $0.member.hasSuffix("BrowserNew") ? [.reply([.path("/b")])] + steps : nil }
    }

    // STREAM-10
    @Test("services are found, announced, and removed as the same object") func services() throws {
        let bus = try Self.bus()
        defer { bus.stop() }
        let began = Signal("the first callback")
        let mayContinue = Signal("all services")
        let recorder = NetServiceRecorder { event in
            guard event == .willSearch else { return }
            began.fire()
            try? mayContinue.wait()
        }
        let discovery = ServiceDiscovery(busAddress: bus.address)
        let browser = NetServiceBrowser(discovery: discovery)
        browser.delegate = recorder
        browser.searchForServices(ofType: "_http._tcp.", inDomain: "")
        try began.wait()
        try bus.waitForCall(of: "ServiceBrowserNew")
        // While the queue is busy. What is removed before it was reported is not reported.
        for name in ["one", "gone", "two"] { bus.say(.signal(path: "/b", member: "ItemNew", Self.item(name))) }
        bus.say(.signal(path: "/b", member: "ItemRemove", Self.item("gone")))
        bus.say(.signal(path: "/b", member: "ItemNew", Self.item("three")))
        // The reply to this comes after the signals, on the same connection.
        let order = EventRecorder<Result<[String], DiscoveryFailure>>()
        let last = discovery.addresses(ofHost: "a.local", .ipv4, timeout: 10_000_000_000) { result in
            order.record(result.map { $0.map(\.description) })
        }
        #expect(try order.waitFor(count: 1) == [.failure(.unexpectedReply)])
        withExtendedLifetime(last) {}
        mayContinue.fire()
        let all = ["one", "two", "three"].map { NetServiceRecorder.Event.found("local. _http._tcp. \($0) -1") }
        #expect(try recorder.events.waitFor(count: 4) == [.willSearch] + all)
        #expect(recorder.moreComing.events == [true, true, false])
        bus.say(.signal(path: "/b", member: "ItemRemove", Self.item("one")))
        #expect(try recorder.events.waitFor(count: 5).last == .removed("local. _http._tcp. one -1"))
        browser.searchForBrowsableDomains()
        let busy = NetService.ErrorCode.activityInProgress.rawValue
        #expect(try recorder.events.waitFor(count: 6).last == .didNotSearch(busy))
        browser.stop()
        browser.stop()
        try bus.waitForEnd()
        #expect(try recorder.events.waitFor(count: 7).last == .didStopSearch)
    }

    // STREAM-10
    @Test("domains are found, the local one always", arguments: [true, false])
    func domains(forRegistration: Bool) throws {
        let bus = try Self.bus([
            .signal(path: "/b", member: "ItemNew", Self.domain("example.com")),
            .signal(path: "/b", member: "ItemNew", Self.domain("local")),
            .signal(path: "/b", member: "ItemNew", Self.domain("example.org")),
        ])
        defer { bus.stop() }
        let recorder = NetServiceRecorder()
        let browser = Self.browser(on: bus)
        browser.delegate = recorder
        if forRegistration { browser.searchForRegistrationDomains() } else { browser.searchForBrowsableDomains() }
        #expect(
            try recorder.events.waitFor(count: 4) == [
                .willSearch, .domain("local."), .domain("example.com."), .domain("example.org."),
            ])
        bus.say(.signal(path: "/b", member: "ItemRemove", Self.domain("example.com")))
        #expect(try recorder.events.waitFor(count: 5).last == .removedDomain("example.com."))
        browser.stop()
        try bus.waitForEnd()
    }

    // STREAM-10
    @Test("a search that fails reports it, and another may begin") func failures() throws {
        let recorder = NetServiceRecorder()
        let browser = NetServiceBrowser(discovery: ServiceDiscovery(busAddress: "unix:path=/absent/bus"))
        browser.delegate = recorder
        let missing = NetService.ErrorCode.missingRequiredConfigurationError.rawValue
        for count in [2, 4] {
            browser.searchForServices(ofType: "_http._tcp", inDomain: "")
            #expect(try recorder.events.waitFor(count: count).suffix(2) == [.willSearch, .didNotSearch(missing)])
        }
        #expect(browser.failureReason == DiscoveryFailure.busMissing(address: "unix:path=/absent/bus").reason)
        browser.searchForServices(ofType: "http", inDomain: "")
        let bad = NetService.ErrorCode.badArgumentError.rawValue
        #expect(try recorder.events.waitFor(count: 6).suffix(2) == [.willSearch, .didNotSearch(bad)])
    }
}
