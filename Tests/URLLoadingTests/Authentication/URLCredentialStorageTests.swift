import Foundation
import LoadingStorage
import Testing

@testable import URLLoading

@Suite struct URLCredentialStorageTests {
    let storage = URLCredentialStorage()
    let space = URLProtectionSpace(
        host: "example.com", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

    private func credential(
        _ user: String, _ password: String = "p", _ persistence: URLCredential.Persistence = .forSession
    ) -> URLCredential {
        URLCredential(user: user, password: password, persistence: persistence)
    }

    // AUTH-23
    @Test func oneCredentialAUser() {
        storage.set(credential("a", "1"), for: space)
        storage.set(credential("a", "2"), for: space)
        storage.set(credential("b", "3", .permanent), for: space)
        #expect(storage.credentials(for: space)?.mapValues(\.password) == ["a": "2", "b": "3"])
        #expect(storage.allCredentials == [space: ["a": credential("a", "2"), "b": credential("b", "3", .permanent)]])
        #expect(storage.defaultCredential(for: space) == credential("a", "2"))
        storage.setDefaultCredential(credential("c", "4"), for: space)
        #expect(storage.defaultCredential(for: space)?.user == "c")
        #expect(storage.credentials(for: space)?.count == 3)
        storage.remove(credential("c", "4"), for: space)
        #expect(storage.defaultCredential(for: space) == nil)
        storage.remove(credential("a", "1"), for: space)
        #expect(storage.credentials(for: space)?.keys.sorted() == ["a", "b"])
    }

    // Beyond AUTH-23, as in swift-corelibs-foundation
    @Test func theFirstCredentialIsTheDefault() {
        storage.set(credential("a", "p", .none), for: space)
        #expect(storage.defaultCredential(for: space) == nil)
        storage.set(credential("b"), for: space)
        storage.set(credential("c"), for: space)
        #expect(storage.defaultCredential(for: space)?.user == "b")
        storage.setDefaultCredential(credential("c"), for: space)
        storage.set(credential("b", "2"), for: space)
        #expect(storage.defaultCredential(for: space)?.user == "c")
        // None of those that are left takes its place.
        storage.remove(credential("c"), for: space)
        #expect(storage.defaultCredential(for: space) == nil)
        storage.set(credential("d"), for: space)
        #expect(storage.defaultCredential(for: space)?.user == "d")
        #expect(storage.credentials(for: space)?.keys.sorted() == ["b", "d"])
    }

    // Beyond AUTH-23: a default that is read late takes precedence over an implied one, and not over one that was set
    @Test(arguments: [
        (CredentialTable.DefaultChoice.ifThereIsNone, false, "stored"), (.ifThereIsNone, true, "set"),
        (.always, false, "set"),
    ])
    func defaultsThatAreReadLate(choice: CredentialTable.DefaultChoice, isAllKnown: Bool, user: String) throws {
        var table = CredentialTable()
        var changes: [CredentialTable.Change] = []
        let space = ProtectionSpaceSnapshot(space)
        let set = try #require(CredentialSnapshot(credential("set", "p", .permanent)))
        _ = table.set(set, for: space, asDefault: choice, isAllKnown: isAllKnown, &changes)
        #expect(table.defaultUser(for: space.values) == "set")
        let records = ["set", "stored"].map {
            PersistentCredential(space: space.values.stored, user: $0, password: "p", isDefault: true)
        }
        let corrections = table.replacePersistent(with: records, at: 0).compactMap { change in
            if case .stored(let record) = change { record } else { nil }
        }
        #expect(table.defaultUser(for: space.values) == user)
        #expect(corrections.map(\.user) == ["set", "stored"])
        #expect(corrections.filter(\.isDefault).map(\.user) == [user])
    }

    private func realm(_ realm: String, host: String = "example.com") -> URLProtectionSpace {
        URLProtectionSpace(
            host: host, port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: realm,
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    }

    // AUTH-22: a server with a new realm each time
    @Test func acceptedCredentialsAreBounded() {
        storage.set(credential("own"), for: realm("r0"))
        storage.keepAccepted(credential("b"), for: realm("r", host: "other.example"), unlessRemovedAfter: 0)
        for number in 0..<1000 {
            storage.keepAccepted(credential("a"), for: realm("r\(number)"), unlessRemovedAfter: 0)
            // In use all the time.
            storage.keepAccepted(credential("a"), for: realm("r7"), unlessRemovedAfter: 0)
        }
        let all = storage.allCredentials
        #expect(all.values.reduce(0) { $0 + $1.count } == AcceptedCredentials.most + 1)
        // That of the program, that of another server, the one in use, and the latest.
        #expect(all[realm("r0")]?.keys.sorted() == ["own"])
        #expect(all[realm("r", host: "other.example")]?.count == 1)
        #expect(all[realm("r7")]?.count == 1)
        #expect((747..<1000).allSatisfy { all[realm("r\($0)")]?.count == 1 })
    }

    // AUTH-22: those of the program are not evicted, also if a server accepts them
    @Test func credentialsOfTheProgramAreNotBounded() {
        for number in 0..<1000 {
            storage.set(credential("a"), for: realm("r\(number)"))
            storage.keepAccepted(credential("a"), for: realm("r\(number)"), unlessRemovedAfter: 0)
        }
        #expect(storage.allCredentials.count == 1000)
    }

    // AUTH-22, AUTH-24: permanent ones leave the file too
    @Test func acceptedPermanentCredentialsAreBounded() throws {
        var table = CredentialTable()
        var changes: [CredentialTable.Change] = []
        for number in 0...AcceptedCredentials.mostPersistent {
            let snapshot = try #require(CredentialSnapshot(credential("a", "p", .permanent)))
            _ = table.keepAccepted(
                snapshot, for: ProtectionSpaceSnapshot(realm("r\(number)")), isAllKnown: true, &changes)
        }
        #expect(table.persistent(at: 0).count == AcceptedCredentials.mostPersistent)
        guard case .removed(let identity)? = changes.last else {
            Issue.record("nothing was removed from the file")
            return
        }
        #expect(identity.space.realm == "r0")
    }

    // AUTH-22, AUTH-24
    @Test func someAreNotKept() {
        storage.set(credential("a", "p", .none), for: space)
        storage.set(credential("b", "p", .synchronizable), for: space)
        storage.setDefaultCredential(credential("c", "p", .synchronizable), for: space)
        #expect(storage.allCredentials.isEmpty)
        #expect(storage.credentials(for: space) == nil)
    }

    @Test func spacesAreApart() {
        let other = URLProtectionSpace(
            host: "example.com", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "other",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        storage.set(credential("a"), for: space)
        #expect(storage.credentials(for: other) == nil)
    }

    // AUTH-25
    @Test func taskVariants() async {
        let task = URLSessionTask()
        storage.set(credential("a"), for: space, task: task)
        storage.setDefaultCredential(credential("b"), for: space, task: task)
        #expect(await storage.credentials(for: space, task: task)?.keys.sorted() == ["a", "b"])
        #expect(await storage.defaultCredential(for: space, task: task)?.user == "b")
        storage.remove(credential("b"), for: space, options: nil, task: task)
        #expect(await storage.defaultCredential(for: space, task: task) == nil)
    }

    // AUTH-12, AUTH-14
    @Test func protectionSpaces() {
        let proxy = URLProtectionSpace(
            proxyHost: "proxy", port: 3128, type: NSURLProtectionSpaceHTTPProxy, realm: nil, authenticationMethod: nil)
        #expect(proxy.isProxy())
        #expect(proxy.protocol == nil)
        #expect(proxy.proxyType == NSURLProtectionSpaceHTTPProxy)
        #expect(proxy.authenticationMethod == NSURLAuthenticationMethodDefault)
        #expect(!space.isProxy())
        #expect(space.receivesCredentialSecurely)
        let plain = { (method: String?) in
            URLProtectionSpace(host: "h", port: 80, protocol: "http", realm: nil, authenticationMethod: method)
        }
        #expect(!plain(nil).receivesCredentialSecurely)
        #expect(!plain(NSURLAuthenticationMethodHTTPBasic).receivesCredentialSecurely)
        #expect(plain(NSURLAuthenticationMethodHTTPDigest).receivesCredentialSecurely)
        #expect(plain(NSURLAuthenticationMethodNTLM).receivesCredentialSecurely)
        #expect(plain(nil).isEqual(plain(NSURLAuthenticationMethodDefault)))
        let certificates = URLProtectionSpace(host: "h", port: 443, distinguishedNames: [Data([0x30])])
        #expect(certificates.distinguishedNames == [Data([0x30])])
        #expect(certificates.authenticationMethod == NSURLAuthenticationMethodClientCertificate)
    }

    // AUTH-8, MISC-24
    @Test func challengesSurviveCoding() throws {
        let url = try #require(URL(string: "https://example.com/"))
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: credential("a"), previousFailureCount: 2,
            failureResponse: HTTPURLResponse(url: url, statusCode: 401, httpVersion: nil, headerFields: nil),
            error: NSError(domain: "d", code: 5))
        let data = try NSKeyedArchiver.archivedData(withRootObject: challenge, requiringSecureCoding: true)
        let object = try NSKeyedUnarchiver.unarchivedObject(ofClass: URLAuthenticationChallenge.self, from: data)
        let decoded = try #require(object)
        #expect(decoded.protectionSpace == space)
        #expect(decoded.proposedCredential == credential("a"))
        #expect(decoded.previousFailureCount == 2)
        #expect((decoded.failureResponse as? HTTPURLResponse)?.statusCode == 401)
        #expect((decoded.error as NSError?)?.code == 5)
        #expect(decoded.sender == nil)
    }

    @Test func sendersNeedThreeMethods() {
        final class Sender: NSObject, URLAuthenticationChallengeSender {
            var calls: [String] = []
            func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) { calls.append("use") }
            func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { calls.append("continue") }
            func cancel(_ challenge: URLAuthenticationChallenge) { calls.append("cancel") }
        }
        let sender = Sender()
        let first = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: Sender())
        let challenge = URLAuthenticationChallenge(authenticationChallenge: first, sender: sender)
        #expect(challenge.sender === sender)
        challenge.sender?.performDefaultHandling(for: challenge)
        challenge.sender?.rejectProtectionSpaceAndContinue(with: challenge)
        #expect(sender.calls == ["continue", "continue"])
    }

    @Test func passwordsStayOutOfDescriptions() {
        #expect(!credential("name", "hunter2").description.contains("hunter2"))
    }
}
