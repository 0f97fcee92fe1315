import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// Records in memory and in a file that is slow, fails, and is changed by other processes.
@Suite(.leavesNothing) struct PersistentRecordsTests {
    private struct Hosts: RecordMemory {
        typealias Record = HSTSRecord

        var all: [String: HSTSRecord] = [:]

        func persistent(at now: Double) -> [HSTSRecord] { all.values.sorted { $0.host < $1.host } }

        mutating func replacePersistent(with records: [HSTSRecord], at now: Double) -> [RecordChange<HSTSRecord>] {
            all = Dictionary(records.map { ($0.host, $0) }) { $1 }
            return []
        }
    }

    private typealias Records = PersistentRecords<Hosts>
    private typealias Store = ScriptedRecordStore<HSTSRecord>

    private func records(over recordStore: Store) -> Records {
        Hosts().records(checkInterval: 0, unlessEmpty: { true }, recordStore: { recordStore })
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
    @Test("waiters are called in order, before the records count as loaded")
    func waiters() async throws {
        let recordStore = Store("a")
        recordStore.block(.load)
        let records = records(over: recordStore)
        let called = EventRecorder<String>()
        for name in ["first", "second", "third"] {
            records.whenLoaded {
                called.record(name)
                #expect(!records.isLoaded && records.readIfLoaded { _ in } == nil)
                if name == "first" { records.whenLoaded { called.record("late") } }
            }
        }
        try await recordStore.wait(for: .load)
        #expect(!records.isLoaded)
        #expect(called.events == [])
        recordStore.unblock(.load)
        #expect(try await called.waitFor(count: 4) == ["first", "second", "third", "late"])
        #expect(hosts(records) == ["a"])
        try await eventually { records.isLoaded }
        records.whenLoaded { called.record("at once") }
        #expect(called.events.last == "at once")
        // A look for changes may have become due meanwhile.
        #expect(recordStore.calls.filter { $0 != "hasExternalChanges" } == ["load"])
    }

    // COOK-17: a cookie that is deleted then must not come back with the file
    @Test("a blocking wait ends with any read of the file") func orderedByAnother() async {
        for _ in 0..<300 {
            let records = records(over: Store("a"))
            async let found = hosts(records)
            records.whenLoaded {}
            #expect(await found == ["a"])
        }
    }

    @Test("an unreadable file does not change the memory, and is tried again")
    func unreadable() async throws {
        let recordStore = Store("old")
        recordStore.setFailing(.load)
        let records = records(over: recordStore)
        #expect(hosts(records) == [])
        store(.of("new"), in: records)
        await flush(records)
        #expect(recordStore.hosts == ["new", "old"])
        #expect(hosts(records) == ["new"])
        recordStore.setFailing(.load, false)
        try await eventually { hosts(records) == ["new", "old"] }
        // The same for what others have stored meanwhile.
        recordStore.setFailing(.load)
        let loads = recordStore.calls.count { $0 == "load" }
        recordStore.storeFromOtherProcess("third")
        try await eventually {
            _ = records.isLoaded
            return recordStore.calls.count { $0 == "load" } > loads
        }
        #expect(hosts(records) == ["new", "old"])
        recordStore.setFailing(.load, false)
        try await eventually { hosts(records) == ["new", "old", "third"] }
    }

    @Test("changes while the file is read override its contents")
    func changedMeanwhile() async throws {
        let recordStore = Store("a", "b")
        let records = records(over: recordStore)
        #expect(hosts(records) == ["a", "b"])
        let changes = EventRecorder<[String]>()
        records.onExternalChange { changes.record(recordStore.hosts) }
        recordStore.block(.load)
        recordStore.storeFromOtherProcess("c")
        try await eventually {
            _ = records.isLoaded
            return recordStore.calls.count { $0 == "load" } == 2
        }
        var changed = HSTSRecord.of("a")
        changed.includesSubdomains = true
        store(changed, in: records)
        remove("b", in: records)
        #expect(hosts(records) == ["a"])
        recordStore.unblock(.load)
        // It is read again, and has what was changed here by then.
        #expect(try await changes.waitFor(count: 1) == [["a", "c"]])
        #expect(records.read { $0.all["a"] } == changed)
        #expect(hosts(records) == ["a", "c"])
        #expect(
            recordStore.calls.filter { $0 != "hasExternalChanges" && $0 != "flush" } == [
                "load", "load", "apply -b +a", "load",
            ])
    }

    @Test("records that are released before the file is read: waiters are called, and their changes are written")
    func released() async throws {
        let recordStore = Store("a")
        recordStore.block(.load)
        let called = EventRecorder<[String]>()
        ({
            let records = records(over: recordStore)
            records.whenLoaded { [self] in
                called.record(hosts(records))
                store(.of("b"), in: records)
            }
            records.whenLoaded { called.record([]) }
        })()
        try await recordStore.wait(for: .load)
        recordStore.unblock(.load)
        #expect(try await called.waitFor(count: 2) == [["a"], []])
        try await recordStore.wait(for: .flush)
        #expect(recordStore.calls == ["load", "apply +b", "flush"])
        // That the thread ends is seen to by the suite.
    }

    @Test("a removed file is written again from memory")
    func lost() async throws {
        let recordStore = Store("a", "b")
        let records = records(over: recordStore)
        #expect(hosts(records) == ["a", "b"])
        // Before anything was changed, by the next look.
        recordStore.loseFile()
        try await eventually {
            _ = records.isLoaded
            return recordStore.hosts == ["a", "b"]
        }
        #expect(hosts(records) == ["a", "b"])
        // With a change.
        recordStore.loseFile()
        recordStore.storeFromOtherProcess("c")
        remove("b", in: records)
        await flush(records)
        #expect(recordStore.hosts == ["a", "c"])
        #expect(recordStore.calls.last { $0.hasPrefix("apply") } == "apply -b")
        try await eventually { hosts(records) == ["a", "c"] }
    }

    @Test("the memory does not replace the contents of a file that another process has created again")
    func madeAnew() async throws {
        let recordStore = Store("a", "b")
        let records = records(over: recordStore)
        #expect(hosts(records) == ["a", "b"])
        let newer = HSTSRecord(host: "a", expires: 2000, includesSubdomains: true)
        recordStore.loseFile()
        recordStore.storeFromOtherProcess(newer)
        recordStore.setFailing(.load)
        store(.of("c"), in: records)
        await flush(records)
        #expect(recordStore.kept == [newer, .of("c")])
        // What it lacks is stored as soon as it can be read.
        recordStore.setFailing(.load, false)
        try await eventually {
            _ = records.isLoaded
            return recordStore.kept == [newer, .of("b"), .of("c")]
        }
        try await eventually { records.read { $0.all["a"] } == newer }
    }

    // COOK-17: the caller may be a loop
    @Test("reads do not check for a file where there was none") func looks() async throws {
        let looks = EventRecorder<Bool>()
        let records = Hosts().records(
            unlessEmpty: {
                looks.record(Thread.current.threadDictionary["asks"] != nil)
                return looks.count > 1
            }, recordStore: { Store("a") })
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
        let recordStore = Store("others'")
        // If the file's contents are unknown, nothing in it may be lost.
        if !isRead { recordStore.setFailing(.load) }
        let records = records(over: recordStore)
        recordStore.block(.apply)
        store(.of("first"), in: records)
        try await recordStore.wait(for: .apply)
        for _ in 0..<6_001 {
            store(.of("x"), in: records)
            remove("x", in: records)
        }
        store(.of("last"), in: records)
        recordStore.unblock(.apply)
        await flush(records)
        #expect(hosts(records) == ["first", "last"] + (isRead ? ["others'"] : []))
        #expect(
            recordStore.calls.filter { $0.hasPrefix("apply") } == ["apply +first", "apply -x +last"])
        #expect(recordStore.hosts == ["first", "last", "others'"])
    }

    // COOK-17
    @Test("a removal includes records of other processes that were not read yet")
    func removalOfUnseen() async {
        let recordStore = Store("a")
        let records = records(over: recordStore)
        #expect(hosts(records) == ["a"])
        recordStore.storeFromOtherProcess("unseen")
        store(.of("unseen"), in: records)
        remove("unseen", in: records)
        await flush(records)
        #expect(recordStore.hosts == ["a"])
    }

    // S-88, S-89
    @Test("continuous changes do not delay the completion of an earlier flush")
    func busy() async throws {
        let recordStore = Store()
        let records = records(over: recordStore)
        let isBusy = Watched(true)
        defer { isBusy.withValue { $0 = false } }
        recordStore.onApply { [weak records] in
            guard isBusy.current, let records else { return }
            store(.of("x\(recordStore.calls.count)"), in: records)
        }
        store(.of("a"), in: records)
        let called = EventRecorder<Bool>()
        records.flush { called.record(recordStore.hosts.contains("a")) }
        #expect(try await called.waitFor(count: 1) == [true])
        records.flush { called.record(recordStore.hosts.contains("a")) }
        #expect(try await called.waitFor(count: 2) == [true, true])
        isBusy.withValue { $0 = false }
        recordStore.onApply(nil)
        // Later changes are written without a request.
        try await eventually { recordStore.hosts == hosts(records) }
    }

    // S-88
    @Test("a flush waits for pending writes, also for failing ones")
    func flushes() async throws {
        let recordStore = Store()
        let records = records(over: recordStore)
        let called = EventRecorder<Int>()
        // Nothing was asked for yet.
        records.flush { called.record(0) }
        #expect(called.events == [0])
        #expect(recordStore.calls == [])
        recordStore.block(.apply)
        for call in [Store.Call.apply, .flush] { recordStore.setFailing(call) }
        store(.of("a"), in: records)
        try await recordStore.wait(for: .apply)
        store(.of("b"), in: records)
        records.flush { called.record(1) }
        #expect(called.events == [0])
        recordStore.unblock(.apply)
        #expect(try await called.waitFor(count: 2) == [0, 1])
        #expect(recordStore.hosts == [])
        #expect(hosts(records) == ["a", "b"])
        for call in [Store.Call.apply, .flush] { recordStore.setFailing(call, false) }
        await flush(records)
        #expect(recordStore.hosts == ["a", "b"])
    }
}
