import Foundation
import LoadingStorage
import TestSupport
import Testing

/// The store on a machine without a keyring.
@Suite(.leakChecked) struct PersistentCredentialStoreTests {
    private static let one = PersistentCredential.of("one.example", "u", "1")
    private static let other = PersistentCredential.of("other.example", "v", "2")

    private func make(_ scene: StorageScene, _ environment: [String: String] = [:]) -> PersistentCredentialStore {
        PersistentCredentialStore(
            in: scene.directory, application: "app", environment: { environment[$0] }, notify: scene.notify)
    }

    // AUTH-21
    @Test("without a bus credentials are in a file that only the user can read") func file() throws {
        let scene = try StorageScene()
        let credentials = make(scene)
        #expect(!credentials.mayHold)
        #expect(credentials.load() == [])
        #expect(!credentials.hasExternalChanges())
        #expect(names(scene.directory.path) == [])
        #expect(credentials.apply([.stored(Self.one), .stored(Self.other)]))
        #expect(credentials.mayHold)
        #expect(mode(credentials.path) == 0o600)
        let second = make(scene)
        #expect(second.hasExternalChanges())
        #expect(Set(second.load()) == [Self.one, Self.other])
        #expect(scene.messages.events == [])
    }

    // AUTH-23
    @Test("without a keyring a removed credential leaves no trace") func removal() throws {
        let scene = try StorageScene()
        let credentials = make(scene)
        credentials.apply([.stored(Self.one), .stored(Self.other), .removed(Self.one.identity)])
        #expect(make(scene).load() == [Self.other])
        // No record of the removed credential is left either.
        #expect(CredentialArchive(in: scene.directory).load() == [Self.other])
        credentials.apply([.everythingRemoved])
        #expect(make(scene).load() == [])
        let bytes = names(scene.directory.path).compactMap { contents(scene.file($0)) }.reduce(Data(), +)
        #expect(bytes.range(of: Data("example".utf8)) == nil)
    }

    // AUTH-21
    @Test("the file is that of a store without keyring support") func sameFile() throws {
        let scene = try StorageScene()
        CredentialArchive(in: scene.directory).apply([.stored(Self.one)])
        let credentials = make(scene)
        #expect(credentials.load() == [Self.one])
        credentials.apply([.stored(Self.other)])
        #expect(Set(CredentialArchive(in: scene.directory).load()) == [Self.one, Self.other])
    }

    @Test("a change by another process is noticed") func changeByAnotherProcessIsNoticed() throws {
        let scene = try StorageScene()
        let credentials = make(scene)
        credentials.apply([.stored(Self.one)])
        #expect(Set(credentials.load()) == [Self.one])
        make(scene).apply([.stored(Self.other)])
        #expect(credentials.hasExternalChanges())
        #expect(Set(credentials.load()) == [Self.one, Self.other])
        #expect(!credentials.hasExternalChanges())
    }

    // AUTH-21
    @Test("while the file cannot be read no result is given, and changes wait") func unreadable() throws {
        let scene = try StorageScene()
        let credentials = make(scene)
        credentials.apply([.stored(Self.one), .stored(Self.other)])
        #expect(credentials.loadIfPossible()?.count == 2)
        try scene.hide()
        #expect(credentials.loadIfPossible() == nil)
        #expect(Set(credentials.load()) == [Self.one, Self.other])
        #expect(make(scene).loadIfPossible() == nil)
        let third = PersistentCredential.of("third.example", "w", "3")
        #expect(!credentials.apply([.stored(third), .removed(Self.one.identity)]))
        #expect(!credentials.flush())
        try scene.show()
        #expect(Set(credentials.loadIfPossible() ?? []) == [Self.other, third])
        #expect(Set(make(scene).load()) == [Self.other, third])
    }

    @Test("a keyring is sought only on an existing bus of this machine") func buses() throws {
        let scene = try StorageScene()
        let bus = "DBUS_SESSION_BUS_ADDRESS"
        let folder = try TemporaryDirectory()
        let none: [[String: String]] = [
            [:], [bus: ""], [bus: "autolaunch:"], [bus: "tcp:host=example.org,port=1"],
            [bus: "unixexec:path=/bin/true"], [bus: "autolaunch:scope=user;tcp:host=h"],
            ["XDG_RUNTIME_DIR": folder.path], ["XDG_RUNTIME_DIR": "run"],
        ]
        for environment in none { #expect(!make(scene, environment).mayHold, "\(environment)") }
        try folder.write("", to: "bus")
        let some: [[String: String]] = [
            [bus: "unix:path=/run/x"], [bus: "autolaunch:;unix:abstract=x"], ["XDG_RUNTIME_DIR": folder.path],
        ]
        for environment in some { #expect(make(scene, environment).mayHold, "\(environment)") }
        // The address in the environment takes precedence, also if it disables the bus.
        #expect(!make(scene, [bus: "disabled:", "XDG_RUNTIME_DIR": folder.path]).mayHold)
    }
}
