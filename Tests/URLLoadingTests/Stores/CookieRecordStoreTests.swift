import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// A cookie storage with a record store that is slow, fails, and is shared with other processes.
@Suite(.leavesNothing) struct CookieRecordStoreTests {
    private typealias Store = ScriptedRecordStore<Cookie>

    private func cookie(_ name: String, expires: Double = 4e9) -> Cookie {
        var cookie = Cookie(name: name, value: "v", domain: "example.org", created: 1000)
        cookie.expires = expires
        return cookie
    }

    private func storage(over recordStore: Store) -> HTTPCookieStorage {
        HTTPCookieStorage(checkInterval: 0, unlessEmpty: { true }, recordStore: { recordStore })
    }

    private func names(_ storage: HTTPCookieStorage) -> [String] { (storage.cookies ?? []).map(\.name).sorted() }

    private func receive(_ fields: [String], in storage: HTTPCookieStorage, host: String = "example.org") throws {
        let url = try #require(URL(string: "https://\(host)/"))
        let request = try #require(CookieRequest(url, document: nil, partition: nil))
        storage.receiveWhenLoaded(fields, from: request, policy: .always)
    }

    // COOK-17: a loop does not wait for the disk
    @Test("a new session finds out whether there is a file", arguments: [false, true]) func prepared(isThere: Bool) {
        let recordStore = Store([cookie("a")])
        let askCount = Watched(0)
        let storage = HTTPCookieStorage(
            checkInterval: 1000,
            unlessEmpty: {
                askCount.withValue { $0 += 1 }
                return isThere
            }, recordStore: { recordStore })
        let session = URLSession { $0.httpCookieStorage = storage }
        #expect(askCount.current == 1)
        #expect(storage.isEmptyIfLoaded == (isThere ? nil : true))
        // The file is read when it is needed.
        #expect(recordStore.calls == [])
        #expect(names(storage) == (isThere ? ["a"] : []))
        #expect(askCount.current == 1)
        session.invalidateAndCancel()
    }

    // COOK-17
    @Test("cookies received while the file is read are queued in order, up to the jar's limits")
    func early() async throws {
        let recordStore = Store([cookie("old")])
        recordStore.block(.load)
        let storage = storage(over: recordStore)
        for number in 0..<10_000 {
            try receive(["a=\(number); Max-Age=1000", "n\(number)=v"], in: storage, host: "h\(number % 100).example")
        }
        #expect(storage.earlyFieldCount <= 6600)
        recordStore.unblock(.load)
        #expect(names(storage).contains("old"))
        #expect(storage.earlyFieldCount == 0)
        let last = (storage.cookies ?? []).filter { $0.domain == "h99.example" }
        #expect(last.first { $0.name == "a" }?.value == "9999")
        #expect(last.contains { $0.name == "n9999" })
    }

    @Test("of several pending changes of a cookie the last one is written")
    func tooManyChanges() async throws {
        let recordStore = Store([cookie("others'")])
        // The contents of the file are not known: they must not be lost.
        recordStore.setFailing(.load)
        recordStore.block(.apply)
        let storage = storage(over: recordStore)
        try receive(["first=v; Max-Age=1000"], in: storage)
        try await recordStore.wait(for: .apply)
        for number in 0..<12_100 { try receive(["x=\(number); Max-Age=\(number % 2 * 1000)"], in: storage) }
        try receive(["last=v; Max-Age=1000"], in: storage)
        recordStore.unblock(.apply)
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        #expect(recordStore.calls.filter { $0.hasPrefix("apply") } == ["apply +first", "apply +x +last"])
        #expect(recordStore.kept.map(\.name) == ["first", "last", "others'", "x"])
        #expect(recordStore.kept.last?.value == "12099")
    }

    // COOK-15: a logout is effective
    @Test("cookies that could not be read can be deleted, by the program and by a server")
    func unread() async throws {
        let recordStore = Store([cookie("deleted"), cookie("ended"), cookie("left")])
        recordStore.setFailing(.load)
        let storage = storage(over: recordStore)
        #expect(names(storage) == [])
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "deleted", .value: "", .domain: "example.org", .path: "/",
        ]
        storage.deleteCookie(try #require(HTTPCookie(properties: properties)))
        try receive(["ended=; Max-Age=0"], in: storage)
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        #expect(recordStore.kept.map(\.name) == ["left"])
    }

    // S-88: also of what a look at the file has led to
    @Test("a flush waits for the removal of expired cookies of other processes")
    func flushAfterExternalChange() async throws {
        let recordStore = Store([cookie("ended", expires: 2000)])
        let isThere = Watched(false)
        let storage = HTTPCookieStorage(
            checkInterval: 0, unlessEmpty: { isThere.current }, recordStore: { recordStore })
        #expect(names(storage) == [])
        recordStore.block(.apply)
        isThere.withValue { $0 = true }
        try await eventually {
            _ = names(storage)
            return recordStore.calls.contains("apply -ended")
        }
        let flushed = EventRecorder<Bool>()
        storage.flush { flushed.record(recordStore.kept.isEmpty) }
        #expect(flushed.events == [])
        recordStore.unblock(.apply)
        #expect(try await flushed.waitFor(count: 1) == [true])
    }

    // COOK-18
    @Test("an expired cookie that another process has renewed stays") func setAnew()
        async throws
    {
        let recordStore = Store([cookie("ended", expires: 2000)])
        recordStore.onApply { [self] in recordStore.storeFromOtherProcess(cookie("ended")) }
        let storage = storage(over: recordStore)
        #expect(names(storage) == [])
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        recordStore.onApply(nil)
        #expect(recordStore.kept == [cookie("ended")])
        try await eventually { names(storage) == ["ended"] }
    }

    // COOK-18
    @Test("a cookie that expires while the file is read is no change") func ending() {
        var jar = CookieJar()
        let ending = cookie("a", expires: 2000)
        _ = jar.insert(ending, at: 1000)
        // At one time, whatever the clock says meanwhile.
        #expect(jar.persistent(at: 1999) == [ending])
        #expect(jar.replacePersistent(with: [ending], at: 1999).isEmpty)
        #expect(jar.persistent(at: 1999) == [ending])
        #expect(jar.persistent(at: 2001) == [])
    }
}
