import Foundation
import Testing
import URLLoading

/// Descriptions of objects for logs.
@Suite struct DescriptionTests {
    @Test("the description of a cookie storage has its count") func cookies() throws {
        let storage = HTTPCookieStorage()
        #expect(storage.description == "<NSHTTPCookieStorage cookies count:0>")
        let cookie = try #require(
            HTTPCookie(properties: [.name: "a", .value: "secret", .path: "/", .domain: "example.org"]))
        storage.setCookie(cookie)
        #expect(storage.description == "<NSHTTPCookieStorage cookies count:1>")
    }

    @Test(
        "a protection space says what it is",
        arguments: [
            (
                URLProtectionSpace(
                    host: "a.org", port: 80, protocol: "http", realm: nil, authenticationMethod: "basic"),
                "Host:a.org, Server:http, Auth-Scheme:NSURLAuthenticationMethodDefault, Realm:(null), Port:80, "
                    + "Proxy:NO, Proxy-Type:(null)"
            ),
            (
                URLProtectionSpace(
                    proxyHost: "b.org", port: 8080, type: NSURLProtectionSpaceHTTPSProxy, realm: "r",
                    authenticationMethod: NSURLAuthenticationMethodNTLM),
                "Host:b.org, Server:(null), Auth-Scheme:NSURLAuthenticationMethodNTLM, Realm:r, Port:8080, "
                    + "Proxy:YES, Proxy-Type:https"
            ),
        ])
    func spaces(_ space: URLProtectionSpace, _ text: String) {
        #expect(space.description.hasPrefix("<URLProtectionSpace: 0x"))
        #expect(space.description.hasSuffix(">: " + text))
    }
}
