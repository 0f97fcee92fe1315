import Foundation
import LoadingStorage
import TestSupport
import Testing
import URLLoading

/// Credential storages that share a file.
@Suite(.leavesNothing) struct PersistentCredentialsTests {
    private let directory: TemporaryDirectory
    private let place: StorageDirectory
    private let space = URLProtectionSpace(
        host: "example.org", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

    init() throws {
        directory = try TemporaryDirectory()
        place = StorageDirectory(path: directory.path + "/store")
    }

    private func credential(
        _ user: String, _ password: String = "p", _ persistence: URLCredential.Persistence = .permanent
    ) -> URLCredential { URLCredential(user: user, password: password, persistence: persistence) }

    private func reopened(_ storage: URLCredentialStorage) async -> URLCredentialStorage {
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        return URLCredentialStorage(in: place)
    }

    // AUTH-21, AUTH-23
    @Test("permanent passwords are there again, those of the session are not")
    func persistence() async {
        let old = URLCredentialStorage(in: place)
        old.set(credential("a"), for: space)
        old.setDefaultCredential(credential("b", "q"), for: space)
        old.set(credential("c", "r", .forSession), for: space)
        let new = await reopened(old)
        #expect(new.credentials(for: space) == ["a": credential("a"), "b": credential("b", "q")])
        #expect(new.defaultCredential(for: space) == credential("b", "q"))
        #expect(new.allCredentials.count == 1)
    }

    // AUTH-23
    @Test("another default takes the place of the first")
    func defaults() async {
        let old = URLCredentialStorage(in: place)
        old.setDefaultCredential(credential("a"), for: space)
        old.setDefaultCredential(credential("b"), for: space)
        let new = await reopened(old)
        #expect(new.defaultCredential(for: space) == credential("b"))
        new.remove(credential("b"), for: space)
        let last = await reopened(new)
        #expect(last.credentials(for: space) == ["a": credential("a")])
        #expect(last.defaultCredential(for: space) == nil)
    }

    // AUTH-23
    @Test("a password of the session takes the place of a permanent one")
    func replaced() async {
        let old = URLCredentialStorage(in: place)
        old.set(credential("a"), for: space)
        old.set(credential("a", "q", .forSession), for: space)
        #expect(await reopened(old).credentials(for: space) == nil)
    }

    // Beyond AUTH-23: as users and realms are compared everywhere else
    @Test("equivalent user names are the same user") func spellings() async {
        func space(_ realm: String) -> URLProtectionSpace {
            URLProtectionSpace(
                host: "example.org", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: realm,
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        }
        let old = URLCredentialStorage(in: place)
        old.set(credential("Zo\u{EB}"), for: space("r\u{E9}alm"))
        let new = await reopened(old)
        new.remove(credential("Zoe\u{308}"), for: space("re\u{301}alm"))
        #expect(await reopened(new).allCredentials.isEmpty)
    }

    // AUTH-23: a proxy's space is another than that of a server
    @Test("every kind of protection space is restored")
    func spaces() async {
        let spaces = [
            space,
            URLProtectionSpace(
                proxyHost: "example.org", port: 3128, type: NSURLProtectionSpaceHTTPProxy, realm: nil,
                authenticationMethod: NSURLAuthenticationMethodHTTPDigest),
            URLProtectionSpace(
                host: "example.org", port: 21, protocol: NSURLProtectionSpaceFTP, realm: nil, authenticationMethod: nil),
        ]
        let old = URLCredentialStorage(in: place)
        for (number, space) in spaces.enumerated() { old.set(credential("user \(number)"), for: space) }
        let new = await reopened(old)
        #expect(Set(new.allCredentials.keys) == Set(spaces))
        for (number, space) in spaces.enumerated() {
            #expect(new.credentials(for: space) == ["user \(number)": credential("user \(number)")])
        }
    }
}
