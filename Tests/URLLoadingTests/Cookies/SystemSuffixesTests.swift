import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import URLLoading

/// The system's public suffix list, and cookies for public suffixes, which servers must not set.
@Suite(.leavesNothing) struct SystemSuffixesTests {
    /// A host, the domain of its cookie, and whether it is allowed: under a registry, and under a hosting provider.
    static let cases = [
        ("www.example.co.uk", "co.uk", false), ("www.example.co.uk", "example.co.uk", true),
        ("me.github.io", "github.io", false), ("www.me.github.io", "me.github.io", true),
    ]

    // COOK-20
    @Test("no server of a loader's sets a cookie for a public suffix") func loads() async throws {
        // Only the proxy can resolve the names.
        let proxy = try ScriptedServer.answering { request in
            let domain = URL(string: request.target)?.query ?? ""
            return CannedResponse.text(request["Cookie"] ?? "-").with(
                field: "Set-Cookie", "n=\(domain); Domain=\(domain)")
        }
        defer { proxy.stop() }
        let session = URLSession {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port]
        }
        defer { session.finishTasksAndInvalidate() }
        for (host, domain, isAllowed) in Self.cases {
            let url = try #require(URL(string: "http://\(host)/?\(domain)"))
            let received = try await [session.data(from: url).0, session.data(from: url).0]
            #expect(received == [Data("-".utf8), Data((isAllowed ? "n=\(domain)" : "-").utf8)], "\(domain)")
        }
        let kept = session.configuration.httpCookieStorage?.cookies?.map(\.domain)
        #expect(kept == [".example.co.uk", ".me.github.io"])
    }

    // COOK-20, COOK-17
    @Test("no cookie for a public suffix through setCookies", arguments: cases)
    func storage(host: String, domain: String, isAllowed: Bool) throws {
        let storage = HTTPCookieStorage()
        let url = try #require(URL(string: "https://\(host)/"))
        let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": "n=v; Domain=\(domain)"], for: url)
        #expect(cookies.count == 1)
        storage.setCookies(cookies, for: url, mainDocumentURL: nil)
        #expect(storage.cookies?.map(\.domain) == (isAllowed ? ["." + domain] : []))
    }
}
