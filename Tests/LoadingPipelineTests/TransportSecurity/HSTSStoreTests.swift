import Dispatch
import LoadingPipeline
import LoadingSemantics
import TestSupport
import Testing

/// The hosts that sessions share, and what goes out of them to a copy and comes in from one.
@Suite struct HSTSStoreTests {
    private let now = Watched<Int64>(1_000_000)
    private let store: HSTSStore
    private let changes = EventRecorder<HSTSChange>()

    init() {
        store = HSTSStore(suffixes: .topLevelDomains) { [now] in now.current }
    }

    private func follow() { store.onChange { [changes] in changes.record($0) } }

    @discardableResult
    private func note(_ policy: String, _ host: String, isTrusted: Bool = true) throws -> HSTSOutcome {
        store.note(
            HTTPFields([("Strict-Transport-Security", policy)]), from: try HTTPURL("https://\(host)/"),
            isTrusted: isTrusted)
    }

    private func record(_ host: String, _ seconds: Int64) -> HSTSRecord {
        HSTSRecord(host: host, expires: now.current + seconds, includesSubdomains: false)
    }

    // TLS-7
    @Test("changes go out") func changesGoOut() throws {
        follow()
        try note("max-age=100", "a.example")
        // As good as the same.
        try note("max-age=101", "a.example")
        try note("max-age=1000", "a.example")
        try note("max-age=100", "b.example", isTrusted: false)
        try note("max-age=100", "127.0.0.1")
        try note("nonsense", "a.example")
        try note("max-age=0", "c.example")
        try note("max-age=0", "a.example")
        store.removeAll()
        #expect(
            changes.events == [
                .put(record("a.example", 100)), .put(record("a.example", 1000)), .remove(["a.example"]), .removeAll,
            ])
        #expect(store.records == [])
    }

    // TLS-7: a host that is removed for another is reported
    @Test("removed hosts are reported before added ones") func removedHostsAreReportedFirst() throws {
        for index in 0..<120 { try note("max-age=100", "h\(index).example.org") }
        follow()
        try note("max-age=100", "new.example.org")
        #expect(changes.events.count == 2)
        let gone = if case .remove(let hosts)? = changes.events.first { hosts } else { [String]() }
        #expect(gone.count == 20)
        #expect(changes.events.last == .put(record("new.example.org", 100)))
        #expect(store.records.count == 101)
    }

    // TLS-7, RFC 6797 §14.5
    @Test("records come in") func recordsComeIn() throws {
        follow()
        try note("max-age=5", "b.example")
        let outcomes = store.insert([
            record("a.example", 100), record("b.example", 200), record("127.0.0.1", 100), record("A b", 100),
            record("gone.example", -1),
        ])
        #expect(
            outcomes == [
                .stored(record("a.example", 100), evicted: []), .stored(record("b.example", 200), evicted: []),
                .refused(.address), .refused(.badName), .nothing,
            ])
        // The caller that added them is not notified.
        #expect(changes.events == [.put(record("b.example", 5))])
        #expect(Set(store.records.map(\.host)) == ["a.example", "b.example"])
        #expect(store.covers("a.example"))
        now.withValue { $0 += 150 }
        #expect(!store.covers("a.example"))
        #expect(store.covers("b.example"))
        #expect(store.records.map(\.host) == ["b.example"])
    }

    // TLS-7
    @Test("records that come late are those of hosts that are not known and were not forgotten")
    func lateRecords() throws {
        follow()
        let asked = Watched(0)
        store.awaitRecords { asked.withValue { $0 += 1 } }
        #expect(!store.covers("late.example"))
        #expect(asked.current == 1)
        try note("max-age=5", "known.example")
        try note("max-age=0", "forgotten.example")
        try note("max-age=0", "refused.example", isTrusted: false)
        // A copy has to forget it too.
        #expect(changes.events == [.put(record("known.example", 5)), .remove(["forgotten.example"])])
        let late = ["late.example", "known.example", "forgotten.example", "refused.example"].map { record($0, 100) }
        #expect(store.complete(with: late).map { $0.0.host } == ["late.example", "refused.example"])
        #expect(store.covers("late.example") && !store.covers("forgotten.example"))
        #expect(store.records.contains(record("known.example", 5)))
        #expect(asked.current == 1)
        // Once only.
        #expect(store.complete(with: [record("later.example", 100)]).isEmpty)
        store.awaitRecords {}
        store.removeAll()
        #expect(store.complete(with: late).isEmpty)
        #expect(store.records == [])
    }

    // TLS-7
    @Test("an observer that was removed") func aRemovedObserver() throws {
        follow()
        store.onChange(nil)
        try note("max-age=100", "a.example")
        #expect(changes.events == [])
        follow()
        try note("max-age=100", "b.example")
        #expect(changes.events == [.put(record("b.example", 100))])
    }

    // An observer may use the store, which holds no lock meanwhile, and is notified of its own changes after that.
    @Test("changes within a change") func changesWithinAChange() throws {
        store.onChange { [store, changes] change in
            changes.record(change)
            guard case .put(let record) = change, record.host == "a.example" else { return }
            #expect(store.covers("a.example"))
            store.removeAll()
        }
        try note("max-age=100", "a.example")
        #expect(changes.events == [.put(record("a.example", 100)), .removeAll])
    }

    // In the order in which they were made, whoever makes them: a copy that follows comes to the same.
    @Test("changes from many threads") func changesFromManyThreads() throws {
        let copy = Watched<[String: HSTSRecord]>([:])
        let isNotifying = Watched(false)
        store.onChange { change in
            #expect(!isNotifying.current)
            isNotifying.withValue { $0 = true }
            copy.withValue { copy in
                switch change {
                case .put(let record): copy[record.host] = record
                case .remove(let hosts): for host in hosts { copy[host] = nil }
                case .removeAll: copy = [:]
                }
            }
            isNotifying.withValue { $0 = false }
        }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for index in 0..<500 {
                let age = [0, 100, 1000, 5000][(index * 7 + thread) % 4]
                _ = try? note("max-age=\(age)", "h\((index * 13 + thread) % 10).example")
                if index == 250, thread == 0 { store.removeAll() }
            }
        }
        let known = Dictionary(uniqueKeysWithValues: store.records.map { ($0.host, $0) })
        #expect(copy.current == known)
    }

    // TLS-7
    @Test("addresses and known top-level domains") func addressesAndKnownTopLevelDomains() {
        let store = HSTSStore(suffixes: .topLevelDomains)
        #expect(store.covers("get.app"))
        #expect(store.covers("a.b.dev."))
        #expect(!store.covers("app"))
        #expect(!store.covers("a.example"))
        #expect(!store.covers("127.0.0.1"))
        #expect(!store.covers("::1"))
        store.removeAll()
        #expect(store.covers("get.app"))
    }

    // TLS-7, RFC 6797 §8.3: a redirect in the same turn may lead there
    @Test("fields that arrive while the public suffixes are read take effect at once, without waiting")
    func listBeingRead() throws {
        let list = HeldList()
        let store = HSTSStore(suffixes: list.suffixes, preload: HSTSPreload())
        let fields = HTTPFields([("Strict-Transport-Security", "max-age=100")])
        store.note(fields, from: try HTTPURL("https://www.example.org/"), isTrusted: true)
        #expect(store.covers("www.example.org"))
        #expect(list.asked.events == [])
        list.isDone.withValue { $0 = true }
        store.note(fields, from: try HTTPURL("https://example.net/"), isTrusted: true)
        #expect(store.covers("example.net"))
        #expect(list.asked.events != [])
    }

    // TLS-7: until then, their last two labels
    @Test("of one site only so many hosts are known, also while the list is read") func limitWhileListIsRead() throws {
        let list = HeldList()
        let store = HSTSStore(suffixes: list.suffixes, preload: HSTSPreload())
        let fields = HTTPFields([("Strict-Transport-Security", "max-age=100")])
        for number in 0..<1000 {
            store.note(fields, from: try HTTPURL("https://h\(number).example.org/"), isTrusted: true)
        }
        #expect(store.records.count <= 120)
        #expect(store.covers("h999.example.org"))
        #expect(list.asked.events == [])
    }

    // TLS-7: loops wait for that lock
    @Test("adding records waits for the public suffixes before the store's lock") func recordsWaitForList() {
        let list = HeldList()
        let store = HSTSStore(suffixes: list.suffixes, preload: HSTSPreload())
        list.whenWaited.withValue { [store] in $0 = { #expect(!store.covers("www.example.org")) } }
        store.awaitRecords {}
        #expect(store.complete(with: [record("www.example.org", 100)]).count == 1)
        #expect(list.waits.current == 1)
        list.isDone.withValue { $0 = false }
        store.insert([record("www.example.net", 100)])
        #expect(list.waits.current == 2)
    }

    /// A list of public suffixes that is being read.
    private final class HeldList: Sendable {
        let isDone = Watched(false)
        let asked = EventRecorder<String>()
        let waits = Watched(0)
        let whenWaited = Watched<@Sendable () -> Void>({})

        var suffixes: PublicSuffixes {
            let reading = PublicSuffixes.Reading(
                isDone: { [isDone] in isDone.current }, whenDone: { _ in },
                wait: { [isDone, waits, whenWaited] in
                    whenWaited.current()
                    waits.withValue { $0 += 1 }
                    isDone.withValue { $0 = true }
                })
            return PublicSuffixes(reading) { [asked] name in
                asked.record(name)
                return false
            }
        }
    }
}
