import Foundation
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// Without a check for leaks, because the first run loop of a process leaves descriptors behind.
@Suite(.needs("libdbus-1.so.3", of: "libdbus-1-3", dlopen("libdbus-1.so.3", RTLD_NOW) != nil))
struct NetServiceRunLoopTests {
    // STREAM-10
    @Test("callbacks come on the run loop that was chosen, which returns after them", arguments: [false, true])
    func runLoop(startsLate: Bool) throws {
        let bus = try NetServiceTests.resolvingBus([.signal(path: "/r", member: "Found", NetServiceTests.found())])
        defer { bus.stop() }
        let areOnThread = EventRecorder<Bool>()
        let done = Signal("the callbacks")
        let thread = Thread {
            let own = pthread_self()
            nonisolated(unsafe) let service = NetServiceTests.service(on: bus)
            let recorder = NetServiceRecorder { event in
                areOnThread.record(pthread_equal(pthread_self(), own) != 0)
                // Without a source the run loop ends.
                if case .didResolve = event { service.remove(from: .current, forMode: .default) }
            }
            service.delegate = recorder
            service.schedule(in: .current, forMode: .default)
            service.schedule(in: .current, forMode: .common)
            service.remove(from: .current, forMode: .common)
            service.resolve(withTimeout: 0)
            // The callbacks of a late loop are there before it runs.
            if startsLate { while service.port < 0 { sched_yield() } }
            while areOnThread.count < 2 { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
            withExtendedLifetime(recorder) {}
            done.fire()
        }
        thread.start()
        try done.wait()
        #expect(areOnThread.events == [true, true])
        try bus.waitForEnd()
    }

    // STREAM-10
    @Test("a run loop that a callback of a browser runs makes its next callbacks") func nestedRunLoop() throws {
        let bus = try NetServiceBrowserTests.bus([
            .signal(path: "/b", member: "ItemNew", NetServiceBrowserTests.item("one"))
        ])
        defer { bus.stop() }
        let events = EventRecorder<NetServiceRecorder.Event>()
        let done = Signal("the callbacks")
        Thread {
            nonisolated(unsafe) let browser = NetServiceBrowser(discovery: ServiceDiscovery(busAddress: bus.address))
            let end = Date(timeIntervalSinceNow: 10)
            let run: @Sendable () -> Void = {
                while events.count < 2, end > Date() { _ = RunLoop.current.run(mode: .default, before: end) }
            }
            let recorder = NetServiceRecorder { event in
                events.record(event)
                if event == .willSearch {
                    run()
                    events.record(.didStopSearch)
                }
            }
            browser.delegate = recorder
            browser.schedule(in: .current, forMode: .default)
            browser.searchForServices(ofType: "_http._tcp.", inDomain: "")
            run()
            browser.remove(from: .current, forMode: .default)
            withExtendedLifetime(recorder) {}
            done.fire()
        }.start()
        try done.wait()
        #expect(events.events == [.willSearch, .found("local. _http._tcp. one -1"), .didStopSearch])
        try bus.waitForEnd()
    }
}
