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

    // Passwords, cookies and other secrets have no place in a log.
    @Test("descriptions of responses have the URL and the type") func responses() throws {
        let url = try #require(URL(string: "http://user:hunter2@example.org/a"))
        let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: 3, textEncodingName: nil)
        #expect(plain.description.hasPrefix("<URLResponse: 0x"))
        #expect(plain.description.hasSuffix("> { URL: http://user@example.org/a }"))
        #expect(URLResponse().description.hasSuffix("> { URL: (null) }"))
        let fields = [
            "Content-Type": "text/plain", "Location": "https://user:hunter2@example.org/b", "Set-Cookie": "sid=hunter2",
            "Link": "</a@b:c>, <//user:hunter2@example.org/?x>; rel=next, <http://b:80/>", "X-Mail": "a@b //c:d",
            "Refresh": "0; url=https://user:hunter2@example.org/c",
        ]
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 404, httpVersion: nil, headerFields: fields))
        #expect(response.description.hasPrefix("<HTTPURLResponse: 0x"))
        let end = """
            > { URL: http://user@example.org/a } { Status Code: 404, Headers {
                Content-Type: text/plain
                Link: </a@b:c>, <//user@example.org/?x>; rel=next, <http://b:80/>
                Location: https://user@example.org/b
                Refresh: 0; url=https://user@example.org/c
                Set-Cookie: (hidden)
                X-Mail: a@b //c:d
            } }
            """
        #expect(response.description.hasSuffix(end))
        #expect("\(response)" == response.description && String(reflecting: response) == response.description)
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
