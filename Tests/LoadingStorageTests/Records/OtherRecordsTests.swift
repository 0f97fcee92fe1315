import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import LoadingStorage

@Suite(.leakChecked) struct OtherRecordsTests {
    // TLS-7
    @Test("hosts are restored with their expiry") func hosts() throws {
        let scene = try StorageScene()
        let archive = TransportSecurityArchive(in: scene.directory, notify: scene.notify)
        let one = HSTSRecord(host: "example.org", expires: 1, includesSubdomains: false)
        let other = HSTSRecord(host: "example.net", expires: 2, includesSubdomains: true)
        let longer = HSTSRecord(host: "example.org", expires: 3, includesSubdomains: true)
        archive.apply([.stored(one), .stored(other)])
        archive.apply([.stored(longer), .removed("example.com")])
        #expect(Set(TransportSecurityArchive(in: scene.directory).load()) == [longer, other])
        #expect(mode(scene.file("url-loading-transport-security.sqlite")) == 0o600)
    }

    // CONN-8
    @Test("alternative services are restored with all attributes") func alternatives() throws {
        typealias Entry = AlternativeServicesRecord.Entry
        let scene = try StorageScene()
        let archive = AlternativeServicesArchive(in: scene.directory, notify: scene.notify)
        let first = AlternativeServicesRecord(
            origin: HostPort("example.org", 443),
            entries: [
                Entry(AlternativeService(port: 65535), expires: 1),
                Entry(AlternativeService(host: "2001:db8::1", port: 443, persists: true), expires: .max),
            ])
        let second = AlternativeServicesRecord(
            origin: HostPort("example.org", 8443), entries: [Entry(AlternativeService(port: 1), expires: 2)])
        let other = AlternativeServicesRecord(origin: second.origin, entries: [])
        archive.apply([.stored(first), .stored(other)])
        archive.apply([.stored(second), .removed(HostPort("example.net", 443))])
        #expect(Set(AlternativeServicesArchive(in: scene.directory).load()) == [first, second])
        archive.apply([.removed(first.origin)])
        #expect(AlternativeServicesArchive(in: scene.directory).load() == [second])
        #expect(mode(scene.file("url-loading-alternative-services.sqlite")) == 0o600)
    }

    // CONN-8
    @Test("a row that is not a valid record is ignored") func brokenAlternatives() {
        let texts = ["", "443", "443 1", "443 1 1 1", "65536 1 1", "-1 1 1", "443 x 1", "443 99999999999999999999 1"]
        for text in texts {
            let content = TextPairs.data([("", text)])
            #expect(AlternativeServicesRecord(row: [.text("a"), .integer(443), .blob(content)]) == nil)
        }
        let content = DatabaseValue.blob(TextPairs.data([("b", "1 2 1")]))
        #expect(AlternativeServicesRecord(row: [.text("a"), .integer(443), content])?.entries.count == 1)
        for port in [-1, 65536] as [Int64] {
            #expect(AlternativeServicesRecord(row: [.text("a"), .integer(port), content]) == nil)
        }
        #expect(AlternativeServicesRecord(row: [.text("a"), .integer(1), .text("b")]) == nil)
        #expect(AlternativeServicesRecord(row: [.integer(1), .integer(1), content]) == nil)
        #expect(AlternativeServicesRecord(row: [.text("a"), .integer(1)]) == nil)
    }

    private static let space = PersistentCredential.Space(
        host: "example.org", port: 443, protocolName: "https", realm: "r", authenticationMethod: "Basic")

    // AUTH-21, AUTH-23
    @Test("a protection space has one credential per user") func credentials() throws {
        let scene = try StorageScene()
        let archive = CredentialArchive(in: scene.directory, notify: scene.notify)
        var proxy = Self.space
        proxy.proxyType = "http"
        proxy.realm = nil
        let first = PersistentCredential(space: Self.space, user: "u", password: "1")
        let second = PersistentCredential(space: Self.space, user: "v", password: "2", isDefault: true)
        let third = PersistentCredential(space: proxy, user: "u", password: "")
        archive.apply([.stored(first), .stored(second), .stored(third)])
        let changed = PersistentCredential(space: Self.space, user: "u", password: "3")
        archive.apply([.stored(changed)])
        #expect(Set(CredentialArchive(in: scene.directory).load()) == [changed, second, third])
        archive.apply([.removed(second.identity)])
        #expect(Set(CredentialArchive(in: scene.directory).load()) == [changed, third])
        #expect(mode(scene.file("url-loading-credentials.sqlite")) == 0o600)
    }

    // AUTH-23, C-36
    @Test("a removed or replaced password leaves no bytes in any file; others stay")
    func passwordsLeaveNoTrace() throws {
        let scene = try StorageScene()
        let archive = CredentialArchive(in: scene.directory, notify: scene.notify)
        let users = ["removed", "replaced", "done", "kept"]
        let all = users.map { PersistentCredential(space: Self.space, user: $0, password: "treasure-" + $0) }
        archive.apply(all.map { .stored($0) })
        #expect(archive.load().count == 4)
        func holds(_ user: String) -> Bool {
            names(scene.directory.path).contains {
                contents(scene.file($0))?.range(of: Data("treasure-\(user)".utf8)) != nil
            }
        }
        try Data("treasure-removed treasure-replaced".utf8).write(
            to: URL(fileURLWithPath: archive.path + ".damaged"))
        #expect(users.allSatisfy(holds))
        archive.apply([.removed(all[0].identity)])
        #expect(!holds("removed") && holds("done"))
        archive.apply([.stored(PersistentCredential(space: Self.space, user: "replaced", password: "new"))])
        #expect(!holds("replaced"))
        #expect(archive.removeUnchanged([all[2]]))
        #expect(!holds("done") && holds("kept"))
        // An archive that has not read the old record erases its password too.
        let other = CredentialArchive(in: scene.directory)
        other.apply([.stored(PersistentCredential(space: Self.space, user: "kept", password: "new"))])
        #expect(!holds("kept"))
        #expect(archive.load().count == 2)
        // So does an archive that read the file before the record was stored.
        other.apply([.stored(PersistentCredential(space: Self.space, user: "unseen", password: "treasure-unseen"))])
        archive.apply([.stored(PersistentCredential(space: Self.space, user: "unseen", password: "new"))])
        #expect(!holds("unseen"))
    }

    // AUTH-23: a completed change is removed; one that another process recorded meanwhile stays
    @Test("a removal spares a record that another process has replaced") func unchanged() throws {
        let scene = try StorageScene()
        let (one, other) = (CredentialArchive(in: scene.directory), CredentialArchive(in: scene.directory))
        let done = ["u", "v"].map { PersistentCredential(space: Self.space, user: $0, password: "1") }
        one.apply(done.map { .stored($0) })
        let changed = PersistentCredential(space: Self.space, user: "v", password: "2")
        let new = PersistentCredential(space: Self.space, user: "w", password: "3")
        other.apply([.stored(changed), .stored(new)])
        #expect(one.removeUnchanged(done))
        #expect(Set(CredentialArchive(in: scene.directory).load()) == [changed, new])
        // It stays while it cannot be completed.
        try scene.hide()
        #expect(!one.removeUnchanged([new]))
        try scene.show()
        #expect(one.removeUnchanged([new, changed]))
        #expect(CredentialArchive(in: scene.directory).load() == [])
    }

    // AUTH-23
    @Test("a record is updated only if it is unchanged since it was read") func corrections() throws {
        let scene = try StorageScene()
        let (one, other) = (CredentialArchive(in: scene.directory), CredentialArchive(in: scene.directory))
        let read = ["u", "v", "w"].map { PersistentCredential(space: Self.space, user: $0, password: "1") }
        one.apply(read.map { .stored($0) })
        let changed = PersistentCredential(space: Self.space, user: "v", password: "2")
        other.apply([.stored(changed), .removed(read[2].identity)])
        let new = read.map { record in
            var new = record
            new.isDefault = true
            return new
        }
        #expect(one.correct(zip(read, new).map { RecordReplacement($0, new: $1) }))
        #expect(Set(CredentialArchive(in: scene.directory).load()) == [new[0], changed])
        #expect(one.correct([RecordReplacement(new[0], new: nil), RecordReplacement(new[1], new: nil)]))
        #expect(CredentialArchive(in: scene.directory).load() == [changed])
    }

    // AUTH-21
    @Test("descriptions contain neither password nor user") func redaction() {
        let credential = PersistentCredential(space: Self.space, user: "the-user", password: "the-password")
        let change = RecordChange.stored(credential)
        var dumped = ""
        dump([change], to: &dumped)
        dump(credential.identity, to: &dumped)
        let texts = [
            "\(credential)", String(reflecting: credential), "\([change])", "\(credential.identity)",
            String(reflecting: RecordChange<PersistentCredential>.removed(credential.identity)), dumped,
        ]
        for text in texts { #expect(!text.contains("the-password") && !text.contains("the-user")) }
    }
}
