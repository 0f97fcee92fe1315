import Foundation
import LoadingSemantics
import Testing

@testable import URLLoading

/// The equivalent protection spaces with which a storage is queried (AUTH-12, AUTH-13).
@Suite struct ProtectionSpaceSpellingTests {
    /// Realm, port and method of each equivalent space, or its type for a proxy.
    private func spellings(
        _ kind: ProtectionSpace.Kind, port: UInt16, realm: String?, _ scheme: AuthenticationScheme = .basic
    ) -> [String] {
        let space = ProtectionSpace(kind: kind, host: "host", port: port, realm: realm, scheme: scheme)
        return URLProtectionSpace(space).spellings(of: space).map { space in
            let method = space.authenticationMethod.replacingOccurrences(of: "NSURLAuthenticationMethod", with: "")
            return "\(space.realm ?? "nil") \(space.port) \(space.proxyType ?? method)"
        }
    }

    // AUTH-12
    @Test func servers() {
        #expect(spellings(.server(.https), port: 8443, realm: "r") == ["r 8443 HTTPBasic", "r 8443 Default"])
        #expect(
            spellings(.server(.https), port: 443, realm: nil) == [
                "host 443 HTTPBasic", "host 0 HTTPBasic", "host 443 Default", "host 0 Default", "nil 443 HTTPBasic",
                "nil 0 HTTPBasic", "nil 443 Default", "nil 0 Default",
            ])
        #expect(spellings(.server(.https), port: 8443, realm: nil, .ntlm) == ["nil 8443 NTLM"])
        #expect(spellings(.server(.ftp), port: 2121, realm: nil) == ["nil 2121 Default"])
    }

    // AUTH-12: a host of a URL is as the program has written it, and that of a challenge is in lower case
    @Test func letterCaseOfHosts() {
        func space(_ host: String) -> URLProtectionSpace {
            URLProtectionSpace(
                host: host, port: 80, protocol: "http", realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        }
        #expect(space("MyServer.local") == space("myserver.LOCAL"))
        #expect(space("MyServer.local").hash == space("myserver.LOCAL").hash)
        #expect(space("MyServer.local").host == "MyServer.local")
        #expect(space("MyServer.local") != space("myserver2.local"))
        let storage = URLCredentialStorage()
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        storage.set(credential, for: space("MyServer.local"))
        #expect(storage.defaultCredential(for: space("myserver.local")) == credential)
        storage.remove(credential, for: space("MYSERVER.local"))
        #expect(storage.allCredentials.isEmpty)
    }

    // AUTH-14, AUTH-28
    @Test func proxies() {
        let (http, https) = (NSURLProtectionSpaceHTTPProxy, NSURLProtectionSpaceHTTPSProxy)
        #expect(
            spellings(.proxy(.https), port: 3128, realm: nil) == [
                "host 3128 \(https)", "host 3128 \(https)", "host 3128 \(http)", "host 3128 \(http)",
                "nil 3128 \(https)", "nil 3128 \(https)", "nil 3128 \(http)", "nil 3128 \(http)",
            ])
        #expect(spellings(.proxy(.http), port: 3128, realm: "r") == ["r 3128 \(http)", "r 3128 \(http)"])
    }
}
