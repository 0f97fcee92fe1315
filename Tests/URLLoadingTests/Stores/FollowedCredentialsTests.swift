import Foundation
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// A storage whose permanent passwords are with a keeper that is slow, fails, and is used by others.
@Suite(.leavesNothing) struct FollowedCredentialsTests {
    private typealias Keeper = ScriptedKeeper<PersistentCredential>

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

    private func storage(over keeper: Keeper) -> URLCredentialStorage {
        URLCredentialStorage(checkInterval: 0, unlessEmpty: { true }, keeper: { keeper })
    }

    private func users(_ storage: URLCredentialStorage) -> [String] {
        (storage.credentials(for: space) ?? [:]).keys.sorted()
    }

    private func flush(_ storage: URLCredentialStorage) async {
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
    }

    private func loads(_ keeper: Keeper) -> Int { keeper.calls.count { $0 == "load" } }

    /// A storage with a credential for the session, and another process that stores one of the same user.
    private func hiding(_ keeper: Keeper) async throws -> URLCredentialStorage {
        let storage = storage(over: keeper)
        storage.set(passing("a", "mine"), for: space)
        keeper.othersStore(stored("a", "others'"))
        keeper.othersStore(stored("seen"))
        try await eventually { users(storage) == ["a", "seen"] }
        #expect(storage.credentials(for: space)?["a"] == passing("a", "mine"))
        return storage
    }

    // AUTH-22: who logs out while the file is read stays logged out
    @Test("what is set and removed for the session while the file is read stays so")
    func sessionCredentials() async throws {
        let keeper = Keeper([])
        let storage = storage(over: keeper)
        storage.set(passing("out"), for: space)
        keeper.hold(.load)
        keeper.othersStore(stored("others'"))
        try await eventually {
            _ = storage.allCredentials
            return loads(keeper) == 2
        }
        storage.remove(passing("out"), for: space)
        storage.set(passing("in"), for: space)
        keeper.letGo(.load)
        try await eventually { users(storage).contains("others'") }
        #expect(users(storage) == ["in", "others'"])
        #expect(loads(keeper) == 3)
    }

    // AUTH-21
    @Test("a password of the session concerns no keeper") func sessionPasswords() async throws {
        let keeper = Keeper([])
        let storage = storage(over: keeper)
        storage.setDefaultCredential(passing("a"), for: space)
        storage.set(passing("a", "q"), for: space)
        storage.remove(passing("a", "q"), for: space)
        storage.set(permanent("b"), for: space)
        await flush(storage)
        #expect(keeper.calls.filter { $0.hasPrefix("apply") } == ["apply +b"])
    }

    // MARK: What a credential of the session hides

    // AUTH-23: from persistent and temporary storage
    @Test("who removes a credential of the session removes the permanent one that it hides")
    func hiddenRemoved() async throws {
        let keeper = Keeper([])
        let storage = try await hiding(keeper)
        storage.remove(passing("a", "mine"), for: space)
        await flush(storage)
        #expect(keeper.kept == [stored("seen")])
        #expect(users(storage) == ["seen"])
    }

    // AUTH-23
    @Test("who replaces a credential of the session replaces the permanent one that it hides")
    func hiddenReplaced() async throws {
        for credential in [passing("a", "new"), passing("a", "mine")] {
            let keeper = Keeper([])
            let storage = try await hiding(keeper)
            storage.set(credential, for: space)
            await flush(storage)
            #expect(keeper.kept == [stored("seen")])
            #expect(storage.credentials(for: space)?["a"] == credential)
        }
        let keeper = Keeper([])
        let storage = try await hiding(keeper)
        storage.set(permanent("a", "new"), for: space)
        await flush(storage)
        // It was the first of its space, and so is its default.
        var new = stored("a", "new")
        new.isDefault = true
        #expect(keeper.kept == [new, stored("seen")])
    }

    // AUTH-23
    @Test("a permanent credential that is hidden can be removed, and no other in its place")
    func hiddenAlone() async throws {
        let keeper = Keeper([])
        let storage = try await hiding(keeper)
        storage.remove(permanent("a", "another"), for: space)
        await flush(storage)
        #expect(keeper.kept.count == 2)
        storage.remove(permanent("a", "others'"), for: space)
        await flush(storage)
        #expect(keeper.kept == [stored("seen")])
        #expect(storage.credentials(for: space)?["a"] == passing("a", "mine"))
    }

    // MARK: Defaults

    private func `default`(_ user: String) -> PersistentCredential {
        var credential = stored(user)
        credential.isDefault = true
        return credential
    }

    // AUTH-23: of two processes that have not heard of each other
    @Test("the default that was set last holds, wherever it was set", arguments: [true, false])
    func lastDefault(isSetHere: Bool) async throws {
        let keeper = Keeper(isSetHere ? [] : [`default`("a")])
        let storage = storage(over: keeper)
        #expect(users(storage) == (isSetHere ? [] : ["a"]))
        if isSetHere {
            keeper.othersStore(`default`("a"))
            storage.setDefaultCredential(permanent("b"), for: space)
            await flush(storage)
        } else {
            keeper.othersStore(`default`("b"))
        }
        try await eventually {
            _ = storage.allCredentials
            return keeper.kept == [stored("a"), `default`("b")]
        }
        #expect(users(storage) == ["a", "b"])
        #expect(storage.defaultCredential(for: space)?.user == "b")
    }

    // AUTH-23
    @Test("what a credential of the session hides is stored again with a file that was lost") func hiddenLost()
        async throws
    {
        let keeper = Keeper([])
        let storage = try await hiding(keeper)
        keeper.lose()
        try await eventually {
            _ = storage.allCredentials
            return keeper.kept == [stored("a", "others'"), stored("seen")]
        }
    }

    // MARK: Removing everything

    // AUTH-23
    @Test("what could not be read can be removed, and replaced for the session", arguments: [true, false])
    func unread(isLoadedCompletely: Bool) async throws {
        // It fails, or it is a keyring that is locked.
        let keeper = Keeper(["a", "b", "c", "d"].map { stored($0) }, isLoadedCompletely: isLoadedCompletely)
        keeper.setFailing(.load)
        let storage = storage(over: keeper)
        #expect(users(storage) == [])
        storage.remove(permanent("a"), for: space)
        storage.set(passing("b"), for: space)
        storage.set(passing("c"), for: space)
        storage.remove(permanent("c", "another"), for: space)
        await flush(storage)
        #expect(keeper.kept == [stored("d")])
        keeper.setFailing(.load, false)
        try await eventually { users(storage) == ["b", "c", "d"] }
    }

    // AUTH-23
    @Test("what another has stored a moment ago can be removed unseen") func unseen() async throws {
        let keeper = Keeper([])
        let storage = storage(over: keeper)
        #expect(users(storage) == [])
        keeper.othersStore(stored("a"))
        storage.remove(permanent("a"), for: space)
        await flush(storage)
        #expect(keeper.kept == [])
    }

    // S-89
    @Test("a reset removes what a storage could not read, what others have stored since, and what is hidden")
    func reset() async throws {
        let unread = Keeper([stored("old")])
        unread.setFailing(.load)
        let later = Keeper([stored("old")])
        let hidden = Keeper([])
        let storages = [storage(over: unread), storage(over: later), try await hiding(hidden)]
        #expect(users(storages[0]) == [] && users(storages[1]) == ["old"])
        later.othersStore(stored("new"))
        for (storage, keeper) in zip(storages, [unread, later, hidden]) {
            let session = URLSession {
                $0.urlCredentialStorage = storage
                $0.httpCookieStorage = nil
                $0.urlCache = nil
            }
            await session.reset()
            #expect(keeper.kept == [])
            #expect(storage.allCredentials.isEmpty)
            session.invalidateAndCancel()
        }
    }

    // MARK: The caller's code

    /// Asks a storage whatever it is asked, and when it goes.
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
