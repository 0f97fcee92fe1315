import Foundation
import LoadingStorage
import TestSupport
import Testing

/// With a real gnome-keyring. One child process uses it, and another checks its contents.
@Suite(.needs(.gnomeKeyring), .needs(.dbusDaemon), .leakChecked) struct KeyringTests {
    private static let one = PersistentCredential.of("one.example", "user-one", "password-one")
    private static let other = PersistentCredential.of("other.example", "user-other", "password-other")

    private static func has(_ folder: TemporaryDirectory, _ text: String) -> Bool {
        names(folder.path).contains { contents(folder.file($0).path)?.range(of: Data(text.utf8)) != nil }
    }

    // AUTH-21
    @Test("a password is in the keyring and in no file, and another process finds it") func stored() throws {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try user.ask("hold") == ["true"])
        #expect(try user.load() == [])
        #expect(try user.store(Self.one))
        #expect(try user.load() == [Self.one])
        let second = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try second.load() == [Self.one])
        #expect(try user.messages() == [])
        #expect(!Self.has(folder, Self.one.password))
        #expect(!Self.has(folder, Self.one.user))
        #expect(session.storedBytes().range(of: Data(Self.one.password.utf8)) == nil)
        // Visible to people and other programs without the secret.
        let description = try session.descriptions(application: "app")
        #expect(description.contains("\"one.example (user-one)\""))
        #expect(description.contains("swift-url-loading.Credential"))
        #expect(!description.contains(Self.one.password))
    }

    // AUTH-23
    @Test("a protection space has one credential per user, and a default") func spaces() throws {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        let first = PersistentCredential.of("one.example", "a", "1")
        let second = PersistentCredential.of("one.example", "b", "2", isDefault: true)
        for credential in [first, second] { #expect(try user.store(credential)) }
        #expect(try user.load() == [first, second])
        // A credential of the same user replaces the stored one, and sets or clears the default.
        let changed = PersistentCredential.of("one.example", "a", "3", isDefault: true)
        let ceased = PersistentCredential.of("one.example", "b", "2")
        for credential in [changed, ceased] { #expect(try user.store(credential)) }
        let reader = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try reader.load() == [changed, ceased])
        // One item per user.
        #expect(try session.descriptions(application: "app").split(separator: "\"Label\"").count == 3)
        #expect(try user.remove(changed))
        #expect(try reader.load() == [ceased])
        #expect(try user.remove(changed))
        #expect(try user.clear())
        #expect(try reader.load() == [])
    }

    // AUTH-21
    @Test("any text can be stored, and a missing value differs from an empty one") func texts() throws {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        var proxy = PersistentCredential.of("h", "", "", realm: nil)
        proxy.space = PersistentCredential.Space(
            host: "h", port: -1, protocolName: nil, realm: nil, authenticationMethod: nil, proxyType: "https")
        let credentials: Set<PersistentCredential> = [
            .of("h", "u", "", realm: nil), .of("h", "u", "x", realm: ""), .of("h", "u", "y", realm: "realm"),
            .of("", "", "z"), .of("bücher.example", "Ωλ 🔑", "pässwörd 🗝️\n\t"), .of("100%", "%00", "%25"),
            .of("n\0ul", "\0", "a\0b\0", realm: "\0"), .of("long", "u", String(repeating: "long ", count: 40_000)),
            .of(String(repeating: "h", count: 5000), "u", "p"), proxy,
        ]
        for credential in credentials { #expect(try user.store(credential)) }
        let reader = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try reader.load() == credentials)
        for credential in credentials.dropFirst() { #expect(try user.remove(credential)) }
        #expect(try reader.load() == Set(credentials.prefix(1)))
        #expect(try user.messages() == [])
    }

    // AUTH-23
    @Test("items of other applications are neither read nor removed") func applications() throws {
        let session = try KeyringSession()
        let folders = [try TemporaryDirectory(), try TemporaryDirectory()]
        let user = try KeyringUserProcess(in: folders[0].path, environment: session.environment)
        let otherProgram = try KeyringUserProcess(
            in: folders[1].path, application: "another", environment: session.environment)
        #expect(try user.store(Self.one))
        #expect(try otherProgram.load() == [])
        #expect(try otherProgram.store(Self.other))
        #expect(try user.load() == [Self.one])
        #expect(try otherProgram.remove(Self.one))
        #expect(try otherProgram.clear())
        #expect(try user.load() == [Self.one])
        #expect(try otherProgram.load() == [])
    }

    @Test("a change by another process is noticed") func changeByAnotherProcess() throws {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        let second = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try second.store(Self.other))
        #expect(try user.load() == [Self.other])
        #expect(try !user.hasExternalChanges())
        #expect(try second.store(Self.one))
        try waitForChange(user)
        #expect(try user.load() == [Self.one, Self.other])
        #expect(try !user.hasExternalChanges())
        #expect(try second.remove(Self.one))
        try waitForChange(user)
        #expect(try user.load() == [Self.other])
    }

    /// Waits for the bus to deliver a change.
    private func waitForChange(_ user: KeyringUserProcess) throws {
        let end = ContinuousClock.now + .testDeadline
        while try !user.hasExternalChanges() {
            if ContinuousClock.now > end { throw DeadlineExceeded(awaited: "a change", deadline: .testDeadline) }
            usleep(1000)
        }
    }

    // MARK: A keyring that cannot be used

    /// A keyring that is locked after both passwords were stored, and the process that stored them.
    private func lockedWithTwo() throws -> (KeyringSession, TemporaryDirectory, KeyringUserProcess) {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try user.store(Self.one))
        #expect(try user.store(Self.other))
        try session.lock()
        return (session, folder, user)
    }

    // AUTH-21
    @Test("while the keyring is locked changes go to the file; they win once it is unlocked") func locked() throws {
        let (session, folder, user) = try lockedWithTwo()
        var changed = Self.one
        changed.password = "password-changed"
        let third = PersistentCredential.of("third.example", "user-third", "password-third")
        #expect(try user.store(changed))
        #expect(try user.store(third))
        #expect(try user.remove(Self.other))
        let messages = try user.messages()
        #expect(messages.count == 1)
        #expect(messages.first?.hasPrefix("the keyring is locked") == true)
        #expect(Self.has(folder, changed.password))
        // A process that finds it locked reads the file alone.
        let second = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try second.load() == [changed, third])

        session.endKeyring()
        try session.startKeyring()
        #expect(try user.load() == [changed, third])
        #expect(try user.messages() == ["the keyring can be used again"])
        #expect(!Self.has(folder, changed.password))
        #expect(!Self.has(folder, third.user))
        #expect(try second.load() == [changed, third])
        #expect(try second.messages().count == 2)
    }

    // AUTH-21: the last reading of the keyring is kept, and changes of other processes are applied to it
    @Test("while the keyring is locked a process keeps what it has read, plus changes of others") func notedByOthers()
        throws
    {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try user.store(Self.one))
        #expect(try user.store(Self.other))
        #expect(try user.load() == [Self.one, Self.other])
        try session.lock()
        let outside = try KeyringUserProcess(
            in: folder.path, environment: ["DBUS_SESSION_BUS_ADDRESS": "disabled:"])
        let third = PersistentCredential.of("third.example", "user-third", "password-third")
        #expect(try outside.store(third))
        #expect(try outside.remove(Self.other))
        #expect(try user.hasExternalChanges())
        #expect(try user.load() == [Self.one, third])
        session.endKeyring()
        try session.startKeyring()
        #expect(try user.load() == [Self.one, third])
        #expect(try outside.load() == [])
    }

    // AUTH-23
    @Test("a removal while the file cannot be read reaches the keyring later")
    func removedWhileUnreadable() throws {
        let session = try KeyringSession()
        let scene = try StorageScene()
        let first = try KeyringUserProcess(in: scene.directory.path, environment: session.environment)
        #expect(try first.store(Self.one))
        #expect(try first.store(Self.other))
        try scene.hide()
        try session.lock()
        let user = try KeyringUserProcess(in: scene.directory.path, environment: session.environment)
        #expect(try !user.remove(Self.one))
        try scene.show()
        #expect(try user.ask("flush") == ["true"])
        session.endKeyring()
        try session.startKeyring()
        #expect(try first.load() == [Self.other])
    }

    // AUTH-23
    @Test("a credential removed while the keyring is locked does not come back") func removedWhileLocked() throws {
        let (session, folder, user) = try lockedWithTwo()
        #expect(try user.clear())
        #expect(try user.store(Self.other))
        // A process without a bus does not revert the removal.
        let outside = try KeyringUserProcess(
            in: folder.path, environment: ["DBUS_SESSION_BUS_ADDRESS": "disabled:"])
        #expect(try outside.load() == [Self.other])
        #expect(try outside.remove(Self.other))
        #expect(try outside.load() == [])
        session.endKeyring()
        try session.startKeyring()
        #expect(try user.load() == [])
        #expect(try session.descriptions(application: "app") == "")
    }

    // AUTH-21
    @Test("the process survives the end of the bus, and no stored credential is lost") func deadBus() throws {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try user.store(Self.one))
        session.endBus()
        session.endKeyring()
        #expect(try user.store(Self.other))
        #expect(try user.load() == [Self.one, Self.other])
        #expect(try user.messages().count == 1)
        #expect(try !user.hasExternalChanges())
        #expect(user.exit == nil)
        try user.kill()
        try session.startBus()
        try session.startKeyring()
        let second = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try second.load() == [Self.one, Self.other])
        #expect(!Self.has(folder, Self.other.password))
    }

    // AUTH-21
    @Test("a restarted keyring is found by a process that used the old one") func restarted() throws {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try user.store(Self.one))
        #expect(try user.load() == [Self.one])
        session.endKeyring()
        try session.startKeyring()
        #expect(try user.hasExternalChanges())
        #expect(try user.load() == [Self.one])
        session.endKeyring()
        try session.startKeyring()
        #expect(try user.store(Self.other))
        #expect(try user.load() == [Self.one, Self.other])
        #expect(try user.messages() == [])
    }

    // AUTH-21
    @Test("a keyring that does not answer is waited for once, until the timeout") func frozen() throws {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, timeout: 200, environment: session.environment)
        #expect(try user.load() == [])
        session.freezeKeyring()
        #expect(try user.store(Self.one))
        #expect(try user.messages().first?.hasPrefix("the keyring does not answer") == true)
        let start = ContinuousClock.now
        #expect(try user.store(Self.other))
        #expect(try user.load() == [Self.one, Self.other])
        #expect(ContinuousClock.now - start < .milliseconds(200))
        #expect(Self.has(folder, Self.one.password))
        // It is tried again after the retry interval.
        session.thawKeyring()
        let end = ContinuousClock.now + .testDeadline
        while Self.has(folder, Self.one.password) {
            if ContinuousClock.now > end { throw DeadlineExceeded(awaited: "the keyring", deadline: .testDeadline) }
            _ = try user.ask("flush")
            usleep(10_000)
        }
        let second = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try second.load() == [Self.one, Self.other])
    }

    // AUTH-23
    @Test("a removal while the keyring is locked holds, even when its file is lost")
    func removedWithoutNotes() throws {
        let (session, folder, user) = try lockedWithTwo()
        for name in names(folder.path) { unlink(folder.file(name).path) }
        #expect(try user.load() == [Self.one, Self.other])
        #expect(try user.remove(Self.other))
        session.endKeyring()
        try session.startKeyring()
        #expect(try user.load() == [Self.one])
    }

    // AUTH-21
    @Test("a bus without a keyring is like no bus, without a message") func noKeyring() throws {
        let session = try KeyringSession()
        session.endKeyring()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        #expect(try user.load() == [])
        #expect(try user.store(Self.one))
        #expect(try user.remove(Self.one))
        #expect(try user.store(Self.other))
        #expect(try user.load() == [Self.other])
        // No record of the removal is left either.
        #expect(try user.clear())
        #expect(!Self.has(folder, Self.one.user))
        #expect(!Self.has(folder, Self.other.user))
        #expect(try user.messages() == [])
    }

    // MARK: The process

    // AUTH-21
    @Test("without a bus no library is loaded") func noBus() throws {
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(
            in: folder.path, environment: ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": folder.path])
        #expect(try user.ask("hold") == ["false"])
        let threads = try user.ask("threads")
        #expect(try user.store(Self.one))
        #expect(try user.load() == [Self.one])
        #expect(try user.ask("libraries") == ["none"])
        #expect(try user.ask("threads") == threads)
        #expect(try user.messages() == [])
    }

    @Test("closing a keyring releases its resources, except two threads and their descriptors") func leftovers() throws
    {
        let session = try KeyringSession()
        let folder = try TemporaryDirectory()
        let user = try KeyringUserProcess(in: folder.path, environment: session.environment)
        let threads = try user.ask("threads")
        let before = try user.ask("descriptors")
        // GLib's threads have an eventfd each, and so has each keyring. Threads of GLib release the latter, and close
        // the socket, a little after the keyring is closed.
        @discardableResult
        func left(atMost count: Int) throws -> Int {
            let end = ContinuousClock.now + .testDeadline
            while true {
                let left = try user.ask("descriptors").filter { !before.contains($0) }
                if left.count <= count, left.allSatisfy({ $0.hasSuffix("anon_inode:[eventfd]") }) { return left.count }
                if ContinuousClock.now > end {
                    throw DeadlineExceeded(
                        awaited: "at most \(count) descriptors", deadline: .testDeadline, seen: "\(left)")
                }
                usleep(1000)
            }
        }
        #expect(try user.store(Self.one))
        try user.ask("renew")
        let first = try left(atMost: 4)
        for _ in 0..<10 {
            #expect(try user.load() == [Self.one])
            try user.ask("renew")
        }
        try left(atMost: first)
        // Newer releases of GLib have one more thread, which starts the threads of pools.
        let others = Set(threads).union(["pool-spawner"])
        #expect(Set(try user.ask("threads")).subtracting(others) == ["gmain", "gdbus"])
        #expect(try user.ask("pipes") == ["default"])
    }
}
