import LoadingPipeline
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// HSTS hosts with a record store that cannot be read at first.
@Suite(.leavesNothing) struct HSTSRecordStoreTests {
    private func note(_ field: String, of host: String, in store: HSTSStore) throws {
        store.note(
            HTTPFields([("Strict-Transport-Security", field)]), from: try HTTPURL("https://\(host)/"), isTrusted: true)
    }

    // TLS-7
    @Test("hosts that could not be read when the first session was made are known when they can be")
    func readLater() async throws {
        let recordStore = ScriptedRecordStore("old.example", "forgotten.example", "changed.example")
        recordStore.setFailing(.load)
        let store = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload(), clock: { 500 })
        let copy = HSTSCopy(checkInterval: 0, recordStore: { recordStore })
        copy.follow(store)
        #expect(!store.covers("old.example"))
        try note("max-age=0", of: "forgotten.example", in: store)
        try note("max-age=100; includeSubDomains", of: "changed.example", in: store)
        recordStore.setFailing(.load, false)
        // To ask is all that loads do.
        try await eventually { store.covers("old.example") }
        #expect(!store.covers("forgotten.example"))
        #expect(store.covers("www.changed.example"))
        #expect(recordStore.hosts == ["changed.example", "old.example"])
        // From then on it is as ever.
        try note("max-age=0", of: "old.example", in: store)
        await withCheckedContinuation { continuation in copy.flush { continuation.resume() } }
        #expect(recordStore.hosts == ["changed.example"])
        #expect(!store.covers("old.example"))
    }

    // TLS-7
    @Test("hosts are awaited no more when there turn out to be none") func none() async throws {
        let recordStore = ScriptedRecordStore<HSTSRecord>([])
        recordStore.setFailing(.load)
        let store = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload(), clock: { 500 })
        let copy = HSTSCopy(checkInterval: 0, recordStore: { recordStore })
        copy.follow(store)
        #expect(store.isAwaitingRecords)
        recordStore.setFailing(.load, false)
        try await eventually {
            _ = store.covers("x.example")
            return !store.isAwaitingRecords
        }
    }

    // S-89
    @Test("hosts that could not be read can be forgotten") func forgotten() async throws {
        let recordStore = ScriptedRecordStore("old.example")
        recordStore.setFailing(.load)
        let store = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload(), clock: { 500 })
        let copy = HSTSCopy(checkInterval: 0, recordStore: { recordStore })
        copy.follow(store)
        // The record store has not forgotten them yet when they can be read.
        for call in [ScriptedCall.apply, .flush] { recordStore.setFailing(call) }
        store.removeAll()
        try note("max-age=100", of: "new.example", in: store)
        await withCheckedContinuation { continuation in copy.flush { continuation.resume() } }
        #expect(recordStore.hosts == ["old.example"])
        recordStore.setFailing(.load, false)
        try await eventually {
            _ = store.covers("x.example")
            return !store.isAwaitingRecords
        }
        #expect(!store.covers("old.example"))
        #expect(store.covers("new.example"))
        for call in [ScriptedCall.apply, .flush] { recordStore.setFailing(call, false) }
        await withCheckedContinuation { continuation in copy.flush { continuation.resume() } }
        #expect(recordStore.hosts == ["new.example"])
    }

    // TLS-7, S-89
    @Test("what another process removes or stores is known while the program runs") func changedByOthers() async throws
    {
        let recordStore = ScriptedRecordStore("kept.example", "removed.example")
        let now = Watched<Int64>(500)
        let store = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload(), clock: { now.current })
        let copy = HSTSCopy(checkInterval: 0, recordStore: { recordStore })
        copy.follow(store)
        #expect(store.covers("removed.example"))
        recordStore.removeFromOtherProcess("removed.example")
        recordStore.storeFromOtherProcess("new.example")
        // To ask is all that loads do, and there is a look in each second.
        try await eventually {
            now.withValue { $0 = $0 == 500 ? 501 : 500 }
            return !store.covers("removed.example") && store.covers("new.example")
        }
        #expect(store.covers("kept.example"))
        // What the server says again is stored again.
        try note("max-age=100", of: "removed.example", in: store)
        await withCheckedContinuation { continuation in copy.flush { continuation.resume() } }
        #expect(recordStore.hosts == ["kept.example", "new.example", "removed.example"])
    }
}
