import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// A storage whose cookies are with a keeper that is slow, fails, and is used by others.
@Suite(.leavesNothing) struct FollowedCookiesTests {
    private typealias Keeper = ScriptedKeeper<Cookie>

    private func cookie(_ name: String, expires: Double = 4e9) -> Cookie {
        var cookie = Cookie(name: name, value: "v", domain: "example.org", created: 1000)
        cookie.expires = expires
        return cookie
    }

    private func storage(over keeper: Keeper) -> HTTPCookieStorage {
        HTTPCookieStorage(checkInterval: 0, unlessEmpty: { true }, keeper: { keeper })
    }

    private func names(_ storage: HTTPCookieStorage) -> [String] { (storage.cookies ?? []).map(\.name).sorted() }

    private func receive(_ fields: [String], in storage: HTTPCookieStorage, host: String = "example.org") throws {
        let url = try #require(URL(string: "https://\(host)/"))
        let request = try #require(CookieRequest(url, document: nil, partition: nil))
        storage.receiveWhenLoaded(fields, from: request, policy: .always)
    }

    // COOK-17
    @Test("what responses set while the file is read waits in its order, and no more than a jar takes")
    func early() async throws {
        let keeper = Keeper([cookie("old")])
        keeper.hold(.load)
        let storage = storage(over: keeper)
        for number in 0..<10_000 {
            try receive(["a=\(number); Max-Age=1000", "n\(number)=v"], in: storage, host: "h\(number % 100).example")
        }
        #expect(storage.earlyFieldCount <= 6600)
        keeper.letGo(.load)
        #expect(names(storage).contains("old"))
        #expect(storage.earlyFieldCount == 0)
        let last = (storage.cookies ?? []).filter { $0.domain == "h99.example" }
        #expect(last.first { $0.name == "a" }?.value == "9999")
        #expect(last.contains { $0.name == "n9999" })
    }

    @Test("of the changes that a keeper is too slow for, each cookie's last one is written")
    func tooManyChanges() async throws {
        let keeper = Keeper([cookie("others'")])
        // Nobody knows what the file has: that is not to be lost.
        keeper.setFailing(.load)
        keeper.hold(.apply)
        let storage = storage(over: keeper)
        try receive(["first=v; Max-Age=1000"], in: storage)
        try await keeper.wait(for: .apply)
        for number in 0..<12_100 { try receive(["x=\(number); Max-Age=\(number % 2 * 1000)"], in: storage) }
        try receive(["last=v; Max-Age=1000"], in: storage)
        keeper.letGo(.apply)
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        #expect(keeper.calls.filter { $0.hasPrefix("apply") } == ["apply +first", "apply +x +last"])
        #expect(keeper.kept.map(\.name) == ["first", "last", "others'", "x"])
        #expect(keeper.kept.last?.value == "12099")
    }

    // COOK-15: who logs out stays logged out
    @Test("cookies that could not be read can be deleted, by the program and by a server")
    func unread() async throws {
        let keeper = Keeper([cookie("deleted"), cookie("ended"), cookie("left")])
        keeper.setFailing(.load)
        let storage = storage(over: keeper)
        #expect(names(storage) == [])
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "deleted", .value: "", .domain: "example.org", .path: "/",
        ]
        storage.deleteCookie(try #require(HTTPCookie(properties: properties)))
        try receive(["ended=; Max-Age=0"], in: storage)
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        #expect(keeper.kept.map(\.name) == ["left"])
    }

    // S-88: also of what a look at the file has led to
    @Test("a flush waits for the removal of what had ended when others' cookies were read")
    func flushAfterNews() async throws {
        let keeper = Keeper([cookie("ended", expires: 2000)])
        let isThere = Watched(false)
        let storage = HTTPCookieStorage(checkInterval: 0, unlessEmpty: { isThere.current }, keeper: { keeper })
        #expect(names(storage) == [])
        keeper.hold(.apply)
        isThere.withValue { $0 = true }
        try await eventually {
            _ = names(storage)
            return keeper.calls.contains("apply -ended")
        }
        let told = EventRecorder<Bool>()
        storage.flush { told.record(keeper.kept.isEmpty) }
        #expect(told.events == [])
        keeper.letGo(.apply)
        #expect(try await told.waitFor(count: 1) == [true])
    }

    // COOK-18
    @Test("a cookie that had ended when it was read, and that others set anew meanwhile, stays") func setAnew()
        async throws
    {
        let keeper = Keeper([cookie("ended", expires: 2000)])
        keeper.onApply { [self] in keeper.othersStore(cookie("ended")) }
        let storage = storage(over: keeper)
        #expect(names(storage) == [])
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        keeper.onApply(nil)
        #expect(keeper.kept == [cookie("ended")])
        try await eventually { names(storage) == ["ended"] }
    }

    // COOK-18
    @Test("a cookie that ends while the file is read is no news") func ending() {
        var jar = CookieJar()
        let ending = cookie("a", expires: 2000)
        _ = jar.insert(ending, at: 1000)
        // At one time, whatever the clock says meanwhile.
        #expect(jar.persistent(at: 1999) == [ending])
        #expect(jar.replaceLasting(with: [ending], at: 1999).isEmpty)
        #expect(jar.persistent(at: 1999) == [ending])
        #expect(jar.persistent(at: 2001) == [])
    }
}
