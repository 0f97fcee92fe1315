import Foundation
import LoadingConnections
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing
import URLLoading

/// Alternative services on disk.
@Suite(.leavesNothing) struct PersistentAlternativesTests {
    private static let name = "url-loading-alternative-services.sqlite"
    private let directory: TemporaryDirectory
    private let place: StorageDirectory
    private let now = Int64(Date().timeIntervalSince1970)

    init() throws {
        directory = try TemporaryDirectory()
        place = StorageDirectory(path: directory.path + "/store")
    }

    /// As in a new process.
    private func fresh() -> PersistentAlternatives {
        let store = PersistentAlternatives(in: place)
        store.prepare()
        return store
    }

    private func say(_ store: PersistentAlternatives, _ host: String, _ field: String) throws {
        store.note(HTTPFields([("Alt-Svc", field)]), from: try HTTPURL("https://\(host)/"), at: now)
    }

    private func services(_ store: PersistentAlternatives, _ host: String) -> [AlternativeService] {
        store.services(of: HostPort(host, 443), at: now)
    }

    private func flush(_ store: PersistentAlternatives) async {
        await withCheckedContinuation { continuation in store.flush { continuation.resume() } }
    }

    // CONN-8
    @Test("alternatives persist until they expire or are cleared")
    func reopened() async throws {
        let old = fresh()
        try say(old, "a.example", "h3=\":8443\"; ma=1000, h3=\":443\"; persist=1")
        try say(old, "b.example", "h3=\":443\"; ma=1000")
        try say(old, "c.example", "h3=\":443\"; ma=1000")
        try say(old, "b.example", "clear")
        try say(old, "c.example", "h2=\":443\"")
        await flush(old)
        let new = fresh()
        let known = [AlternativeService(port: 8443), AlternativeService(port: 443, persists: true)]
        #expect(services(new, "a.example") == known)
        #expect(new.services(of: HostPort("a.example", 443), at: now + 1000) == [known[1]])
        #expect(services(new, "b.example") == [] && services(new, "c.example") == [])
        #expect(AlternativeServicesArchive(in: place).load().count == 1)
        let attributes = try FileManager.default.attributesOfItem(atPath: place.path + "/" + Self.name)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    // CONN-8, RFC 7838 §2.2, §3.1: another process does not know whether the network is the same
    @Test("another host that was named for this network alone is not kept")
    func network() async throws {
        let old = fresh()
        try say(old, "a.example", "h3=\"near.example:443\", h3=\":443\", h3=\"far.example:443\"; persist=1")
        try say(old, "b.example", "h3=\"near.example:443\"")
        #expect(services(old, "a.example").count == 3 && services(old, "b.example").count == 1)
        await flush(old)
        let new = fresh()
        let kept = [
            AlternativeService(port: 443), AlternativeService(host: "far.example", port: 443, persists: true),
        ]
        #expect(services(new, "a.example") == kept)
        #expect(services(new, "b.example") == [])
        // A change of the network removes more, on disk too.
        new.networkChanged(at: now)
        await flush(new)
        #expect(services(fresh(), "a.example") == [kept[1]])
    }

    // CONN-8: what is in the file in its place goes with it
    @Test("a non-persistent alternative on another host replaces the stored one")
    func replaced() async throws {
        let old = fresh()
        try say(old, "a.example", "h3=\":443\"")
        try say(old, "a.example", "h3=\"near.example:443\"")
        await flush(old)
        #expect(AlternativeServicesArchive(in: place).load() == [])
        #expect(services(old, "a.example").map(\.host) == ["near.example"])
    }

    // CONN-8: what another process has learnt comes, and what is in memory alone stays
    @Test("alternatives of other processes are read after the check interval")
    func followed() async throws {
        let (one, other) = (fresh(), fresh())
        try say(one, "a.example", "h3=\"near.example:443\"")
        try say(other, "b.example", "h3=\":443\"")
        await flush(other)
        try await eventually { services(one, "b.example") == [AlternativeService(port: 443)] }
        #expect(services(one, "a.example").map(\.host) == ["near.example"])
    }

    // S-89
    @Test("all is forgotten, on disk too")
    func forgotten() async throws {
        let old = fresh()
        try say(old, "a.example", "h3=\":443\"")
        await flush(old)
        let new = fresh()
        new.removeAll()
        #expect(services(new, "a.example") == [])
        await flush(new)
        #expect(services(fresh(), "a.example") == [])
    }

    // CONN-8: the file is untrusted
    @Test("expired and invalid alternatives are removed from the file")
    func garbage() async throws {
        typealias Entry = AlternativeServicesRecord.Entry
        let archive = AlternativeServicesArchive(in: place)
        let good = AlternativeServicesRecord(
            origin: HostPort("a.example", 443), entries: [Entry(AlternativeService(port: 443), expires: now + 100)])
        let over = AlternativeServicesRecord(
            origin: HostPort("b.example", 443), entries: [Entry(AlternativeService(port: 443), expires: now - 1)])
        let none = AlternativeServicesRecord(
            origin: HostPort("c.example", 443),
            entries: [Entry(AlternativeService(host: "no host", port: 443, persists: true), expires: now + 100)])
        archive.apply([good, over, none].map { .stored($0) })
        let store = fresh()
        #expect(services(store, "a.example").count == 1)
        #expect(services(store, "b.example") == [] && services(store, "c.example") == [])
        await flush(store)
        #expect(AlternativeServicesArchive(in: place).load() == [good])
    }

    // CONN-8
    @Test("a damaged file loses only the damaged records")
    func damaged() async throws {
        let hosts = (0..<200).map { "host\($0).example" }
        let service = AlternativeService(port: 443)
        let stored = hosts.map { host in
            AlternativeServicesRecord(
                origin: HostPort(host, 443), entries: [.init(service, expires: now + 1000)])
        }
        AlternativeServicesArchive(in: place).apply(stored.map { .stored($0) })
        let file = URL(fileURLWithPath: place.path + "/" + Self.name)
        var bytes = try Data(contentsOf: file)
        let row = try #require(bytes.range(of: Data("host77.example".utf8)))
        bytes[row.lowerBound] ^= 1
        try bytes.write(to: file)
        let new = fresh()
        #expect(services(new, "host77.example") == [])
        #expect(hosts.count { services(new, $0) != [] } == hosts.count - 1)
    }
}
