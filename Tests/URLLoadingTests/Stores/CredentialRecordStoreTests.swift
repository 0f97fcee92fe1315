import Foundation
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// A credential storage with a record store that is slow, fails, and is shared with other processes.
@Suite(.leavesNothing) struct CredentialRecordStoreTests {
    private typealias Store = ScriptedRecordStore<PersistentCredential>

    private let space = URLProtectionSpace(
        host: "example.org", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

    private func stored(_ user: String, _ password: String = "p") -> PersistentCredential {
        PersistentCredential(
            space: PersistentCredential.Space(
                host: "example.org", port: 443, protocolName: "https", realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic),
            user: user, password: password)
    }

    private func permanent(_ user: String, _ password: String = "p") -> URLCredential {
        URLCredential(user: user, password: password, persistence: .permanent)
    }

    private func passing(_ user: String, _ password: String = "p") -> URLCredential {
        URLCredential(user: user, password: password, persistence: .forSession)
    }

    private func storage(over recordStore: Store) -> URLCredentialStorage {
        URLCredentialStorage(checkInterval: 0, unlessEmpty: { true }, recordStore: { recordStore })
    }

    private func users(_ storage: URLCredentialStorage) -> [String] {
        (storage.credentials(for: space) ?? [:]).keys.sorted()
    }

    private func flush(_ storage: URLCredentialStorage) async {
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
    }

    private func loads(_ recordStore: Store) -> Int { recordStore.calls.count { $0 == "load" } }

    /// A storage with a session credential, while another process stores one of the same user.
    private func hiding(_ recordStore: Store) async throws -> URLCredentialStorage {
        let storage = storage(over: recordStore)
        storage.set(passing("a", "mine"), for: space)
        recordStore.storeFromOtherProcess(stored("a", "others'"))
        recordStore.storeFromOtherProcess(stored("seen"))
        try await eventually { users(storage) == ["a", "seen"] }
        #expect(storage.credentials(for: space)?["a"] == passing("a", "mine"))
        return storage
    }

    // AUTH-22: a logout while the file is read is effective
    @Test("changes of session credentials while the file is read are kept")
    func sessionCredentials() async throws {
        let recordStore = Store([])
        let storage = storage(over: recordStore)
        storage.set(passing("out"), for: space)
        recordStore.block(.load)
        recordStore.storeFromOtherProcess(stored("others'"))
        try await eventually {
            _ = storage.allCredentials
            return loads(recordStore) == 2
        }
        storage.remove(passing("out"), for: space)
        storage.set(passing("in"), for: space)
        recordStore.unblock(.load)
        try await eventually { users(storage).contains("others'") }
        #expect(users(storage) == ["in", "others'"])
        #expect(loads(recordStore) == 3)
    }

    // AUTH-21
    @Test("session credentials are not written") func sessionPasswords() async throws {
        let recordStore = Store([])
        let storage = storage(over: recordStore)
        storage.setDefaultCredential(passing("a"), for: space)
        storage.set(passing("a", "q"), for: space)
        storage.remove(passing("a", "q"), for: space)
        storage.set(permanent("b"), for: space)
        await flush(storage)
        #expect(recordStore.calls.filter { $0.hasPrefix("apply") } == ["apply +b"])
    }

    // MARK: What a credential of the session hides

    // AUTH-23: from persistent and temporary storage
    @Test("removing a session credential removes the permanent one that it shadows")
    func hiddenRemoved() async throws {
        let recordStore = Store([])
        let storage = try await hiding(recordStore)
        storage.remove(passing("a", "mine"), for: space)
        await flush(storage)
        #expect(recordStore.kept == [stored("seen")])
        #expect(users(storage) == ["seen"])
    }

    // AUTH-23
    @Test("replacing a session credential replaces the permanent one that it shadows")
    func hiddenReplaced() async throws {
        for credential in [passing("a", "new"), passing("a", "mine")] {
            let recordStore = Store([])
            let storage = try await hiding(recordStore)
            storage.set(credential, for: space)
            await flush(storage)
            #expect(recordStore.kept == [stored("seen")])
            #expect(storage.credentials(for: space)?["a"] == credential)
        }
        let recordStore = Store([])
        let storage = try await hiding(recordStore)
        storage.set(permanent("a", "new"), for: space)
        await flush(storage)
        // It was the first of its space, and so is its default.
        var new = stored("a", "new")
        new.isDefault = true
        #expect(recordStore.kept == [new, stored("seen")])
    }

    // AUTH-23
    @Test("a permanent credential that is hidden can be removed, and no other in its place")
    func hiddenAlone() async throws {
        let recordStore = Store([])
        let storage = try await hiding(recordStore)
        storage.remove(permanent("a", "another"), for: space)
        await flush(storage)
        #expect(recordStore.kept.count == 2)
        storage.remove(permanent("a", "others'"), for: space)
        await flush(storage)
        #expect(recordStore.kept == [stored("seen")])
        #expect(storage.credentials(for: space)?["a"] == passing("a", "mine"))
    }

    // MARK: Defaults

    private func `default`(_ user: String) -> PersistentCredential {
        var credential = stored(user)
        credential.isDefault = true
        return credential
    }

    // AUTH-23: of two processes that have not read each other's changes
    @Test("the default that was set last holds, wherever it was set", arguments: [true, false])
    func lastDefault(isSetHere: Bool) async throws {
        let recordStore = Store(isSetHere ? [] : [`default`("a")])
        let storage = storage(over: recordStore)
        #expect(users(storage) == (isSetHere ? [] : ["a"]))
        if isSetHere {
            recordStore.storeFromOtherProcess(`default`("a"))
            storage.setDefaultCredential(permanent("b"), for: space)
            await flush(storage)
        } else {
            recordStore.storeFromOtherProcess(`default`("b"))
        }
        try await eventually {
            _ = storage.allCredentials
            return recordStore.kept == [stored("a"), `default`("b")]
        }
        #expect(users(storage) == ["a", "b"])
        #expect(storage.defaultCredential(for: space)?.user == "b")
    }

    // AUTH-23
    @Test("a shadowed permanent credential is written again after the file was lost") func hiddenLost()
        async throws
    {
        let recordStore = Store([])
        let storage = try await hiding(recordStore)
        recordStore.loseFile()
        try await eventually {
            _ = storage.allCredentials
            return recordStore.kept == [stored("a", "others'"), stored("seen")]
        }
    }

    // MARK: Removing everything

    // AUTH-23
    @Test("unread credentials can be removed, and replaced for the session", arguments: [true, false])
    func unread(isLoadedCompletely: Bool) async throws {
        // It fails, or it is a keyring that is locked.
        let recordStore = Store(["a", "b", "c", "d"].map { stored($0) }, isLoadedCompletely: isLoadedCompletely)
        recordStore.setFailing(.load)
        let storage = storage(over: recordStore)
        #expect(users(storage) == [])
        storage.remove(permanent("a"), for: space)
        storage.set(passing("b"), for: space)
        storage.set(passing("c"), for: space)
        storage.remove(permanent("c", "another"), for: space)
        await flush(storage)
        #expect(recordStore.kept == [stored("d")])
        recordStore.setFailing(.load, false)
        try await eventually { users(storage) == ["b", "c", "d"] }
    }

    // AUTH-23
    @Test("a credential of another process can be removed before it was read") func unseen() async throws {
        let recordStore = Store([])
        let storage = storage(over: recordStore)
        #expect(users(storage) == [])
        recordStore.storeFromOtherProcess(stored("a"))
        storage.remove(permanent("a"), for: space)
        await flush(storage)
        #expect(recordStore.kept == [])
    }

    // S-89
    @Test("a reset removes unread, foreign and shadowed credentials")
    func reset() async throws {
        let unread = Store([stored("old")])
        unread.setFailing(.load)
        let later = Store([stored("old")])
        let hidden = Store([])
        let storages = [storage(over: unread), storage(over: later), try await hiding(hidden)]
        #expect(users(storages[0]) == [] && users(storages[1]) == ["old"])
        later.storeFromOtherProcess(stored("new"))
        for (storage, recordStore) in zip(storages, [unread, later, hidden]) {
            let session = URLSession {
                $0.urlCredentialStorage = storage
                $0.httpCookieStorage = nil
                $0.urlCache = nil
            }
            await session.reset()
            #expect(recordStore.kept == [])
            #expect(storage.allCredentials.isEmpty)
            session.invalidateAndCancel()
        }
    }

    // MARK: The caller's code

    /// Accesses a storage in its properties and in its deinit.
    private final class Curious: URLCredential, @unchecked Sendable {
        // Sendable: constants only.
        private let ask: @Sendable () -> Void

        init(_ user: String, _ password: String, _ ask: @escaping @Sendable () -> Void) {
            self.ask = ask
            super.init(user: user, password: password, persistence: .forSession)
        }

        required init?(coder: NSCoder) { return nil }

        deinit { ask() }

        override var persistence: Persistence {
            ask()
            return super.persistence
        }
        override var password: String? {
            ask()
            return super.password
        }
        override func isEqual(_ object: Any?) -> Bool {
            ask()
            return super.isEqual(object)
        }
        override var hash: Int {
            ask()
            return super.hash
        }
    }

    private final class CuriousSpace: URLProtectionSpace, @unchecked Sendable {
        // Sendable: constants only.
        private let ask: @Sendable () -> Void

        init(_ ask: @escaping @Sendable () -> Void) {
            self.ask = ask
            super.init(
                host: "example.org", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "curious",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        }

        required init?(coder: NSCoder) { return nil }

        deinit { ask() }

        override var host: String {
            ask()
            return super.host
        }
        override func isEqual(_ object: Any?) -> Bool {
            ask()
            return super.isEqual(object)
        }
        override var hash: Int {
            ask()
            return super.hash
        }
    }

    @Test("the caller's classes may use the storage whenever they are asked, and when they go")
    func classes() async throws {
        let storage = URLCredentialStorage()
        let asked = Watched(0)
        let other = space
        let ask: @Sendable () -> Void = { [weak storage] in
            asked.withValue { $0 += 1 }
            _ = storage?.defaultCredential(for: other)
        }
        // On a thread of its own: one that waits for itself is to fail the test, not to hold it up.
        let done = Signal("the storage")
        Thread {
            for space in [CuriousSpace(ask), other] {
                storage.set(Curious("a", "1", ask), for: space)
                storage.set(Curious("a", "1", ask), for: space)
                storage.setDefaultCredential(Curious("a", "2", ask), for: space)
                storage.setDefaultCredential(Curious("b", "2", ask), for: space)
                _ = storage.allCredentials
                storage.remove(Curious("a", "2", ask), for: space)
                storage.remove(Curious("b", "2", ask), for: space)
                storage.set(Curious("c", "3", ask), for: space)
            }
            storage.removeAll()
            done.fire()
        }.start()
        try await done.wait()
        #expect(asked.current > 0)
        #expect(storage.allCredentials.isEmpty)
    }
}
