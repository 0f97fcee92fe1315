import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// Records in memory that a file follows, with a file that is slow, fails, and is changed by others.
@Suite(.leavesNothing) struct PersistentRecordsTests {
    private struct Hosts: RecordMemory {
        typealias Record = HSTSRecord

        var all: [String: HSTSRecord] = [:]

        func persistent(at now: Double) -> [HSTSRecord] { all.values.sorted { $0.host < $1.host } }

        mutating func replaceLasting(with records: [HSTSRecord], at now: Double) -> [RecordChange<HSTSRecord>] {
            all = Dictionary(records.map { ($0.host, $0) }) { $1 }
            return []
        }
    }

    private typealias Records = PersistentRecords<Hosts>
    private typealias Keeper = ScriptedKeeper<HSTSRecord>

    private func records(over keeper: Keeper) -> Records {
        Records(Hosts(), checkInterval: 0, unlessEmpty: { true }, keeper: { keeper })
    }

    private func hosts(_ records: Records) -> [String] { records.read { $0.persistent(at: 0).map(\.host) } }

    private func store(_ record: HSTSRecord, in records: Records) {
        records.change { hosts, changes in
            hosts.all[record.host] = record
            changes.append(.stored(record))
        }
    }

    private func remove(_ host: String, in records: Records) {
        records.change { hosts, changes in
            hosts.all[host] = nil
            changes.append(.removed(host))
        }
    }

    private func flush(_ records: Records) async {
        await withCheckedContinuation { continuation in records.flush { continuation.resume() } }
    }

    // MARK: Reading

    // COOK-17
    @Test("who waits for the file is called in the order of asking, before anybody finds it read")
    func waiters() async throws {
        let keeper = Keeper("a")
        keeper.hold(.load)
        let records = records(over: keeper)
        let told = EventRecorder<String>()
        for name in ["first", "second", "third"] {
            records.whenLoaded {
                told.record(name)
                #expect(!records.isLoaded && records.readIfLoaded { _ in } == nil)
                if name == "first" { records.whenLoaded { told.record("late") } }
            }
        }
        try await keeper.wait(for: .load)
        #expect(!records.isLoaded)
        #expect(told.events == [])
        keeper.letGo(.load)
        #expect(try await told.waitFor(count: 4) == ["first", "second", "third", "late"])
        #expect(hosts(records) == ["a"])
        try await eventually { records.isLoaded }
        records.whenLoaded { told.record("at once") }
        #expect(told.events.last == "at once")
        #expect(keeper.calls == ["load"])
    }

    // COOK-17: a cookie that is deleted then must not come back with the file
    @Test("who waits for the file finds it read, whoever has ordered that") func orderedByAnother() async {
        for _ in 0..<300 {
            let records = records(over: Keeper("a"))
            async let found = hosts(records)
            records.whenLoaded {}
            #expect(await found == ["a"])
        }
    }

    @Test("a file that cannot be read leaves what is in memory, and is tried again")
    func unreadable() async throws {
        let keeper = Keeper("old")
        keeper.setFailing(.load)
        let records = records(over: keeper)
        #expect(hosts(records) == [])
        store(.of("new"), in: records)
        await flush(records)
        #expect(keeper.hosts == ["new", "old"])
        #expect(hosts(records) == ["new"])
        keeper.setFailing(.load, false)
        try await eventually { hosts(records) == ["new", "old"] }
        // The same for what others have stored meanwhile.
        keeper.setFailing(.load)
        let loads = keeper.calls.count { $0 == "load" }
        keeper.othersStore("third")
        try await eventually {
            _ = records.isLoaded
            return keeper.calls.count { $0 == "load" } > loads
        }
        #expect(hosts(records) == ["new", "old"])
        keeper.setFailing(.load, false)
        try await eventually { hosts(records) == ["new", "old", "third"] }
    }

    @Test("what is changed while the file is read wins over what is read")
    func changedMeanwhile() async throws {
        let keeper = Keeper("a", "b")
        let records = records(over: keeper)
        #expect(hosts(records) == ["a", "b"])
        let news = EventRecorder<[String]>()
        records.onNews { news.record(keeper.hosts) }
        keeper.hold(.load)
        keeper.othersStore("c")
        try await eventually {
            _ = records.isLoaded
            return keeper.calls.count { $0 == "load" } == 2
        }
        var changed = HSTSRecord.of("a")
        changed.includesSubdomains = true
        store(changed, in: records)
        remove("b", in: records)
        #expect(hosts(records) == ["a"])
        keeper.letGo(.load)
        // It is read again, and has what was changed here by then.
        #expect(try await news.waitFor(count: 1) == [["a", "c"]])
        #expect(records.read { $0.all["a"] } == changed)
        #expect(hosts(records) == ["a", "c"])
        #expect(
            keeper.calls.filter { $0 != "hasExternalChanges" && $0 != "flush" } == [
                "load", "load", "apply -b +a", "load",
            ])
    }

    @Test("records that are let go of before the file is read: who waits is called, and what he changes is written")
    func letGo() async throws {
        let keeper = Keeper("a")
        keeper.hold(.load)
        let told = EventRecorder<[String]>()
        try {
            let records = records(over: keeper)
            records.whenLoaded { [self] in
                told.record(hosts(records))
                store(.of("b"), in: records)
            }
            records.whenLoaded { told.record([]) }
        }()
        try await keeper.wait(for: .load)
        keeper.letGo(.load)
        #expect(try await told.waitFor(count: 2) == [["a"], []])
        try await keeper.wait(for: .flush)
        #expect(keeper.calls == ["load", "apply +b", "flush"])
        // That the thread ends is seen to by the suite.
    }

    @Test("a file that others remove is made anew, of what is in memory")
    func lost() async throws {
        let keeper = Keeper("a", "b")
        let records = records(over: keeper)
        #expect(hosts(records) == ["a", "b"])
        // Before anything was changed, by the next look.
        keeper.lose()
        try await eventually {
            _ = records.isLoaded
            return keeper.hosts == ["a", "b"]
        }
        #expect(hosts(records) == ["a", "b"])
        // With a change.
        keeper.lose()
        keeper.othersStore("c")
        remove("b", in: records)
        await flush(records)
        #expect(keeper.hosts == ["a", "c"])
        #expect(keeper.calls.last { $0.hasPrefix("apply") } == "apply -b")
        try await eventually { hosts(records) == ["a", "c"] }
    }

    @Test("what is in memory does not take the place of what is in a file that was made anew")
    func madeAnew() async throws {
        let keeper = Keeper("a", "b")
        let records = records(over: keeper)
        #expect(hosts(records) == ["a", "b"])
        let newer = HSTSRecord(host: "a", expires: 2000, includesSubdomains: true)
        keeper.lose()
        keeper.othersStore(newer)
        keeper.setFailing(.load)
        store(.of("c"), in: records)
        await flush(records)
        #expect(keeper.kept == [newer, .of("c")])
        // What it lacks is stored as soon as it can be read.
        keeper.setFailing(.load, false)
        try await eventually {
            _ = records.isLoaded
            return keeper.kept == [newer, .of("b"), .of("c")]
        }
        try await eventually { records.read { $0.all["a"] } == newer }
    }

    // COOK-17: who asks may be a loop
    @Test("who asks does not look for a file where there was none") func looks() async throws {
        let looks = EventRecorder<Bool>()
        let records = Records(
            Hosts(),
            unlessEmpty: {
                looks.record(Thread.current.threadDictionary["asks"] != nil)
                return looks.count > 1
            }, keeper: { Keeper("a") })
        #expect(hosts(records) == [])
        @Sendable func ask() -> [String] {
            Thread.current.threadDictionary["asks"] = true
            defer { Thread.current.threadDictionary["asks"] = nil }
            return hosts(records)
        }
        try await eventually { ask() == ["a"] }
        #expect(looks.events == [false, false])
    }

    // MARK: Writing

    @Test(
        "of the changes that a disk is too slow for, the last one of each record is written", arguments: [false, true])
    func tooManyChanges(isRead: Bool) async throws {
        let keeper = Keeper("others'")
        // If nobody knows what the file has, nothing of that is to be lost either.
        if !isRead { keeper.setFailing(.load) }
        let records = records(over: keeper)
        keeper.hold(.apply)
        store(.of("first"), in: records)
        try await keeper.wait(for: .apply)
        for _ in 0..<6_001 {
            store(.of("x"), in: records)
            remove("x", in: records)
        }
        store(.of("last"), in: records)
        keeper.letGo(.apply)
        await flush(records)
        #expect(hosts(records) == ["first", "last"] + (isRead ? ["others'"] : []))
        #expect(
            keeper.calls.filter { $0.hasPrefix("apply") } == ["apply +first", "apply -x +last"])
        #expect(keeper.hosts == ["first", "last", "others'"])
    }

    // COOK-17
    @Test("what others may have stored meanwhile is removed, also if nobody here has seen it")
    func removalOfUnseen() async {
        let keeper = Keeper("a")
        let records = records(over: keeper)
        #expect(hosts(records) == ["a"])
        keeper.othersStore("unseen")
        store(.of("unseen"), in: records)
        remove("unseen", in: records)
        await flush(records)
        #expect(keeper.hosts == ["a"])
    }

    // S-88, S-89
    @Test("a program that never stops keeps nobody from hearing that what was before is written")
    func busy() async throws {
        let keeper = Keeper()
        let records = records(over: keeper)
        let isBusy = Watched(true)
        defer { isBusy.withValue { $0 = false } }
        keeper.onApply { [weak records] in
            guard isBusy.current, let records else { return }
            store(.of("x\(keeper.calls.count)"), in: records)
        }
        store(.of("a"), in: records)
        let told = EventRecorder<Bool>()
        records.flush { told.record(keeper.hosts.contains("a")) }
        #expect(try await told.waitFor(count: 1) == [true])
        records.flush { told.record(keeper.hosts.contains("a")) }
        #expect(try await told.waitFor(count: 2) == [true, true])
        isBusy.withValue { $0 = false }
        keeper.onApply(nil)
        // What came meanwhile is written all the same, without anybody's asking.
        try await eventually { keeper.hosts == hosts(records) }
    }

    // S-88
    @Test("a flush waits for what is being written, and is told of what cannot be")
    func flushes() async throws {
        let keeper = Keeper()
        let records = records(over: keeper)
        let told = EventRecorder<Int>()
        // Nothing was asked for yet.
        records.flush { told.record(0) }
        #expect(told.events == [0])
        #expect(keeper.calls == [])
        keeper.hold(.apply)
        for call in [Keeper.Call.apply, .flush] { keeper.setFailing(call) }
        store(.of("a"), in: records)
        try await keeper.wait(for: .apply)
        store(.of("b"), in: records)
        records.flush { told.record(1) }
        #expect(told.events == [0])
        keeper.letGo(.apply)
        #expect(try await told.waitFor(count: 2) == [0, 1])
        #expect(keeper.hosts == [])
        #expect(hosts(records) == ["a", "b"])
        for call in [Keeper.Call.apply, .flush] { keeper.setFailing(call, false) }
        await flush(records)
        #expect(keeper.hosts == ["a", "b"])
    }
}
