import Foundation
import LoadingPipeline
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing
import URLLoading

/// HSTS hosts on disk.
@Suite(.leavesNothing) struct PersistentHostsTests {
    private let directory: TemporaryDirectory
    private let place: StorageDirectory

    init() throws {
        directory = try TemporaryDirectory()
        place = StorageDirectory(path: directory.path + "/store")
    }

    private func store(at now: Int64 = 1000) -> HSTSStore {
        HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload(), clock: { now })
    }

    private func note(_ store: HSTSStore, _ host: String, _ field: String = "max-age=1000") throws {
        store.note(
            HTTPFields([("Strict-Transport-Security", field)]), from: try HTTPURL("https://\(host)/"), isTrusted: true)
    }

    private func flush(_ copy: HSTSCopy) async {
        await withCheckedContinuation { continuation in copy.flush { continuation.resume() } }
    }

    // TLS-7
    @Test("hosts persist until they expire")
    func reopened() async throws {
        let old = store()
        let copy = HSTSCopy(in: place)
        copy.follow(old)
        try note(old, "a.example", "max-age=1000; includeSubDomains")
        try note(old, "b.example")
        try note(old, "short.example", "max-age=10")
        try note(old, "b.example", "max-age=0")
        await flush(copy)
        let new = store(at: 1100)
        HSTSCopy(in: place).follow(new)
        #expect(new.covers("a.example") && new.covers("www.a.example"))
        #expect(!new.covers("b.example") && !new.covers("short.example"))
    }

    // TLS-7: an expired host leaves the file too
    @Test("expired hosts are removed from the file")
    func over() async throws {
        let old = store()
        let copy = HSTSCopy(in: place)
        copy.follow(old)
        try note(old, "short.example", "max-age=10")
        await flush(copy)
        #expect(TransportSecurityArchive(in: place).load().count == 1)
        let second = HSTSCopy(in: place)
        second.follow(store(at: 1100))
        await flush(second)
        #expect(TransportSecurityArchive(in: place).load().isEmpty)
    }

    // S-89
    @Test("all is forgotten, on disk too")
    func forgotten() async throws {
        let old = store()
        let copy = HSTSCopy(in: place)
        copy.follow(old)
        try note(old, "a.example")
        old.removeAll()
        await flush(copy)
        let new = store()
        HSTSCopy(in: place).follow(new)
        #expect(!new.covers("a.example"))
    }
}
