import Foundation
import LoadingConnections
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// With a real avahi-daemon, on a bus and in a network namespace of its own.
@Suite(
    .needs(.avahi), .needs(.avahiPublish), .needs(.dbusDaemon),
    .needs("a mount and a network namespace", AvahiNetwork.isAvailable), .leakChecked)
struct AvahiTests {
    /// Records what browsers and services say, by name.
    private final class Recorder: NSObject, NetServiceDelegate, NetServiceBrowserDelegate {
        enum Event: Equatable, Sendable {
            case published(String), notPublished(Int), resolved(String), notResolved(Int), stopped
            case text([String: String]), found(String), removed(String), notSearched(Int), domain(String)
        }

        let events = EventRecorder<Event>()
        let services = Watched<[String: NetService]>([:])

        func netServiceDidPublish(_ sender: NetService) { events.record(.published(sender.name)) }
        func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
            events.record(.notPublished(errorDict[NetService.errorCode]?.intValue ?? 0))
        }
        func netServiceDidResolveAddress(_ sender: NetService) { events.record(.resolved(sender.name)) }
        func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
            events.record(.notResolved(errorDict[NetService.errorCode]?.intValue ?? 0))
        }
        func netServiceDidStop(_ sender: NetService) { events.record(.stopped) }
        func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {
            let values = NetService.dictionary(fromTXTRecord: data)
            events.record(.text(values.mapValues { String(decoding: $0, as: UTF8.self) }))
        }
        func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
            services.withValue { $0[service.name] = service }
            events.record(.found(service.name))
        }
        func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
            events.record(.removed(service.name))
        }
        func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {
            events.record(.notSearched(errorDict[NetService.errorCode]?.intValue ?? 0))
        }
        func netServiceBrowser(_ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool) {
            events.record(.domain(domainString))
        }
    }

    /// A session that does not ask the desktop for proxies: libproxy 0.5 keeps threads and descriptors.
    private static func session() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.proxyVariables = [:]
        return URLSession(configuration: configuration)
    }

    private static let loopback = ["127.0.0.1", "::1"]

    private static func texts(_ addresses: [Data]?) -> Set<String> {
        Set(
            (addresses ?? []).compactMap { data in
                data.withUnsafeBytes { bytes in
                    bytes.baseAddress.flatMap { SocketAddress(sockaddr: $0, count: bytes.count) }
                }
            }.map { "\($0) \($0.port)" })
    }

    // STREAM-1, STREAM-10, S-34
    @Test("a stream task connects to a service") func streamTask() async throws {
        let network = try AvahiNetwork()
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let server = try ScriptedServer { try $0.send("hello\n") }
        defer { server.stop() }
        let publisher = try network.publish("greeter", "_greet._tcp", port: server.port, [])
        defer { publisher.end() }
        let service = NetService(
            domain: "local.", type: "_greet._tcp.", name: "greeter", port: -1, discovery: discovery)
        let session = Self.session()
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(with: service)
        task.resume()
        let (data, isAtEnd) = try await task.readData(ofMinLength: 100, maxLength: 100, timeout: 10)
        #expect(data == Data("hello\n".utf8) && isAtEnd)

        // No program offers it.
        let absent = NetService(domain: "local.", type: "_greet._tcp.", name: "nobody", port: -1, discovery: discovery)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 1
        let other = URLSession(configuration: configuration)
        defer { other.invalidateAndCancel() }
        let vain = other.streamTask(with: absent)
        vain.resume()
        let error = await #expect(throws: URLError.self) {
            _ = try await vain.readData(ofMinLength: 1, maxLength: 1, timeout: 0)
        }
        #expect(error?.code == .timedOut)

        // Cancelled while it is looked for.
        let cancelled = session.streamTask(with: absent)
        cancelled.resume()
        cancelled.cancel()
        let reason = await #expect(throws: URLError.self) {
            _ = try await cancelled.readData(ofMinLength: 1, maxLength: 1, timeout: 0)
        }
        #expect(reason?.code == .cancelled)
    }

    // STREAM-10, S-34
    @Test("a service of another program is found, resolved, monitored and removed") func otherProgram() throws {
        let network = try AvahiNetwork()
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let name = "my server Ωλ 🔑.\\"
        let publisher = try network.publish(name, "_ws._tcp", port: 9400, ["path=/x", "b=2", "flag"])
        defer { publisher.end() }
        let recorder = Recorder()
        let browser = NetServiceBrowser(discovery: discovery)
        browser.delegate = recorder
        browser.searchForServices(ofType: "_ws._tcp.", inDomain: "local.")
        try recorder.events.wait(for: .found(name))
        let service = try #require(recorder.services.current[name])
        #expect(service.type == "_ws._tcp." && service.domain == "local.")
        service.delegate = recorder
        service.resolve(withTimeout: 10)
        try recorder.events.wait(for: .resolved(name))
        #expect(service.hostName == "\(AvahiNetwork.host).local.")
        #expect(service.port == 9400)
        #expect(!Self.texts(service.addresses).isDisjoint(with: Self.loopback.map { "\($0) 9400" }))
        let text = ["path": "/x", "b": "2", "flag": ""]
        let record = try #require(service.txtRecordData())
        #expect(
            NetService.dictionary(fromTXTRecord: record).mapValues { String(decoding: $0, as: UTF8.self) } == text)
        service.startMonitoring()
        try recorder.events.wait(for: .text(text))
        service.stopMonitoring()
        service.stop()
        try recorder.events.wait(for: .stopped)
        publisher.end()
        try recorder.events.wait(for: .removed(name))
        browser.stop()
        network.stop()
    }

    // STREAM-10
    @Test("a published service is seen by another program, its TXT record changes, and its name if it is taken")
    func publish() throws {
        let network = try AvahiNetwork()
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let recorder = Recorder()
        let service = NetService(domain: "", type: "_ws._tcp.", name: "ours", port: 9401, discovery: discovery)
        service.delegate = recorder
        #expect(service.setTXTRecord(NetService.data(fromTXTRecord: ["a": Data("1".utf8)])))
        service.publish()
        try recorder.events.wait(for: .published("ours"))
        #expect(
            try network.browse("_ws._tcp") == ["ours;_ws._tcp;local;avahi-test.local;127.0.0.1;9401;\"a=1\""])

        let monitored = NetService(domain: "local.", type: "_ws._tcp.", name: "ours", port: -1, discovery: discovery)
        monitored.delegate = recorder
        monitored.startMonitoring()
        try recorder.events.wait(for: .text(["a": "1"]))
        #expect(service.setTXTRecord(NetService.data(fromTXTRecord: ["a": Data("2".utf8)])))
        try recorder.events.wait(for: .text(["a": "2"]))
        monitored.stopMonitoring()

        let second = NetService(domain: "", type: "_ws._tcp.", name: "ours", port: 9402, discovery: discovery)
        second.delegate = recorder
        second.publish(options: .noAutoRename)
        try recorder.events.wait(for: .notPublished(NetService.ErrorCode.collisionError.rawValue))
        second.publish()
        try recorder.events.wait(for: .published("ours #2"))
        #expect(second.name == "ours #2")
        let browser = NetServiceBrowser(discovery: discovery)
        browser.delegate = recorder
        browser.searchForServices(ofType: "_ws._tcp.", inDomain: "")
        try recorder.events.wait(for: .found("ours"))
        try recorder.events.wait(for: .found("ours #2"))
        second.stop()
        service.stop()
        try recorder.events.waitUntil { $0.count { $0 == .stopped } == 2 }
        try recorder.events.wait(for: .removed("ours"))
        try recorder.events.wait(for: .removed("ours #2"))
        browser.stop()
        network.stop()
    }

    // STREAM-10
    @Test("subtypes are searched in Apple's form, and the local domain is found") func subtypes() throws {
        let network = try AvahiNetwork()
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let recorder = Recorder()
        let service = NetService(domain: "", type: "_ws._tcp,_chat", name: "chat", port: 9403, discovery: discovery)
        let other = NetService(domain: "", type: "_ws._tcp", name: "other", port: 9404, discovery: discovery)
        for one in [service, other] {
            one.delegate = recorder
            one.publish()
        }
        try recorder.events.wait(for: .published("chat"))
        try recorder.events.wait(for: .published("other"))
        let browser = NetServiceBrowser(discovery: discovery)
        browser.delegate = recorder
        browser.searchForServices(ofType: "_ws._tcp.,_chat", inDomain: "")
        try recorder.events.wait(for: .found("chat"))
        browser.stop()
        browser.searchForBrowsableDomains()
        try recorder.events.wait(for: .domain("local."))
        browser.stop()
        #expect(!recorder.events.events.contains(.found("other")))
        service.stop()
        other.stop()
        network.stop()
    }

    // STREAM-1, STREAM-10
    @Test("a service without an answer is a timeout; one that is there has an endpoint") func endpoints() throws {
        let network = try AvahiNetwork()
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let publisher = try network.publish("there", "_ws._tcp", port: 9405)
        defer { publisher.end() }
        let results = EventRecorder<Result<[String], DiscoveryFailure>>()
        let there = NetService(domain: "local.", type: "_ws._tcp.", name: "there", port: -1, discovery: discovery)
        let absent = NetService(domain: "local.", type: "_ws._tcp.", name: "absent", port: -1, discovery: discovery)
        let first = there.lookup.start(timeout: 10_000_000_000) { result in
            results.record(result.map { $0.addresses.map { "\($0) \($0.port)" }.sorted() })
        }
        guard case .success(let addresses) = try results.waitFor(count: 1)[0] else {
            Issue.record("\(results.events)")
            return
        }
        #expect(!Set(addresses).isDisjoint(with: Self.loopback.map { "\($0) 9405" }))
        let second = absent.lookup.start(timeout: 300_000_000) { result in
            results.record(result.map { $0.addresses.map(\.description) })
        }
        #expect(try results.waitFor(count: 2).last == .failure(.timedOut))
        withExtendedLifetime((first, second)) {}
        publisher.end()
        network.stop()
    }

    // STREAM-10
    @Test("hundreds of services are resolved at once") func many() throws {
        let network = try AvahiNetwork()
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let publisher = try network.publish("there", "_ws._tcp", port: 9407)
        defer { publisher.end() }
        let recorder = Recorder()
        let services = (0..<300).map { _ in
            NetService(domain: "local.", type: "_ws._tcp.", name: "there", port: -1, discovery: discovery)
        }
        for service in services {
            service.delegate = recorder
            service.resolve(withTimeout: 10)
        }
        let ends = try recorder.events.waitFor(count: 300)
        #expect(ends.filter { $0 != .resolved("there") } == [], "\(services.compactMap(\.failureReason))")
        for service in services { service.stop() }
        publisher.end()
        network.stop()
    }

    // STREAM-10
    @Test("names in .local have addresses") func hostNames() throws {
        let network = try AvahiNetwork()
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let host = "\(AvahiNetwork.host).local"
        let loopback = try #require(SocketAddress(literal: "127.0.0.1", port: 0))
        #expect(
            MulticastLookup.answer(to: AddressQuery(host, .ipv4), from: discovery) == .success([loopback]))
        #expect(
            MulticastLookup.answer(to: AddressQuery(host.uppercased() + ".", .ipv4), from: discovery)
                == .success([loopback]))
        network.stop()
        #expect(MulticastLookup.answer(to: AddressQuery(host, .ipv4), from: discovery) == nil)
    }

    /// The client, which is built beside the tests.
    private static let program = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("urlsession").path

    // STREAM-10: by the system's resolver first, in a process whose system bus is the test's
    @Test("a load of a name in .local") func load() throws {
        let network = try AvahiNetwork()
        let server = try ScriptedServer.answering(.text("found"))
        defer { server.stop() }
        let url = "http://\(AvahiNetwork.host).local:\(server.port)/"
        let loaded = try ChildProcess.run(
            Self.program, ["get", "-s", url], environment: network.environment)
        #expect(loaded.exit == .code(0) && loaded.output == "found", "\(loaded)")
        network.stop()
        // Nothing else knows the name.
        let without = try ChildProcess.run(
            Self.program, ["get", "-s", url], environment: network.environment)
        #expect(without.exit != .code(0))
        #expect(server.requests.count == 1)
    }

    // STREAM-10
    @Test("the failure names a missing daemon; when a daemon ends, a search goes on with the next one")
    func restart() throws {
        let network = try AvahiNetwork(startsDaemon: false)
        let discovery = ServiceDiscovery(busAddress: network.busAddress)
        let recorder = Recorder()
        let browser = NetServiceBrowser(discovery: discovery)
        browser.delegate = recorder
        browser.searchForServices(ofType: "_ws._tcp.", inDomain: "")
        try recorder.events.wait(for: .notSearched(NetService.ErrorCode.missingRequiredConfigurationError.rawValue))
        #expect(browser.failureReason == DiscoveryFailure.daemonMissing.reason)

        try network.startAvahi()
        let publisher = try network.publish("again", "_ws._tcp", port: 9406)
        defer { publisher.end() }
        browser.searchForServices(ofType: "_ws._tcp.", inDomain: "")
        try recorder.events.wait(for: .found("again"))
        let resolving = NetService(
            domain: "local.", type: "_ws._tcp.", name: "nobody", port: -1, discovery: discovery)
        resolving.delegate = recorder
        resolving.resolve(withTimeout: 60)
        // The daemon reads the calls of a connection in their order: this one is answered after it knows the one
        // before.
        let later = NetService(domain: "local.", type: "_ws._tcp.", name: "again", port: -1, discovery: discovery)
        later.delegate = recorder
        later.resolve(withTimeout: 60)
        try recorder.events.wait(for: .resolved("again"))
        network.endAvahi()
        try recorder.events.wait(for: .removed("again"))
        try recorder.events.wait(for: .notResolved(NetService.ErrorCode.unknownError.rawValue))
        #expect(resolving.failureReason == DiscoveryFailure.connectionLost.reason)
        publisher.end()
        try network.startAvahi()
        let next = try network.publish("later", "_ws._tcp", port: 9408)
        defer { next.end() }
        try recorder.events.wait(for: .found("later"))
        #expect(browser.failureReason == nil)
        next.end()
        try recorder.events.wait(for: .removed("later"))
        browser.stop()
        network.stop()
    }

    // STREAM-10
    @Test("a daemon that does not answer is a timeout") func frozen() throws {
        let network = try AvahiNetwork()
        network.freezeAvahi()
        let recorder = Recorder()
        let service = NetService(
            domain: "local.", type: "_ws._tcp.", name: "any", port: -1,
            discovery: ServiceDiscovery(busAddress: network.busAddress))
        service.delegate = recorder
        service.resolve(withTimeout: 0.3)
        #expect(
            try recorder.events.waitFor(count: 1) == [.notResolved(NetService.ErrorCode.timeoutError.rawValue)])
        network.stop()
    }
}
