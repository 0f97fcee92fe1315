import Foundation
import LoadingEvents
import LoadingSemantics
import Testing

@testable import URLLoading

/// Log lines of events.
@Suite struct LoadTraceTests {
    /// Each event with its time in tenths of a millisecond.
    private func lines(_ level: TraceLevel, _ events: [(Int64, LoadEvent.Kind)]) -> [String] {
        var trace = LoadTrace(level: level, name: "1.7")
        return events.flatMap { trace.lines(of: LoadEvent(time: $0 * 100_000, kind: $1)) }
    }

    private static let facts = ConnectionFacts(
        protocolName: "h2", isReused: false, isProxied: false, localAddress: "127.0.0.1", localPort: 9,
        remoteAddress: "127.0.0.1", remotePort: 443, tlsVersion: 0x0304, tlsCipherSuite: 0x1301)

    /// A load over a connection of its own.
    private static let load: [(Int64, LoadEvent.Kind)] = [
        (10, .fetchStarted(.first)),
        (10, .request(method: "GET", url: "https://me:pw@example.com/a?token=1#x")),
        (11, .cacheDecision("load", because: "nothingStored")),
        // Begun for another task.
        (5, .resolutionStarted(host: "example.com")), (20, .resolutionEnded(addresses: 2)),
        (20, .connectStarted(address: "127.0.0.1")), (30, .connectEnded), (30, .secureConnectionStarted),
        (55, .secureConnectionEnded(version: 0x0304, cipherSuite: 0x1301)), (56, .connectionAssigned(facts)),
        (56, .requestStarted),
        (
            56,
            .messageHead(
                MessageHead(
                    .request(method: "GET", target: "/a?token=1"), version: "HTTP/2",
                    fields: [.init("host", "example.com"), .init("authorization", "Basic bTpw")]))
        ),
        (57, .requestHeadSent(bytes: 120)), (58, .requestEnded(bytes: 3, content: 3)),
        (70, .informationalResponse(status: 103)), (80, .responseStarted),
        (
            81,
            .messageHead(
                MessageHead(
                    .response(status: 200), version: "HTTP/2",
                    fields: [
                        .init("set-cookie", "a=b"), .init("location", "/b?token=2"), .init("x-shown", "plain"),
                    ]))
        ),
        (81, .responseHead(status: 200, isHTTP10: false, bytes: 96)),
        (100, .responseEnded(bytes: 50, decoded: 200)), (100, .ended),
    ]

    private static let summary =
        "1.7 GET https://example.com/a?...: 200, h2, new connection to 127.0.0.1:443, sent 120+3 bytes, "
        + "received 96+50 bytes, 200 decoded, 9.0 ms (dns 1.0, connect 1.0, tls 2.5, send 0.2, wait 2.2, receive 2.0)"

    // MISC-28
    @Test("a line for a transaction") func transactions() {
        #expect(lines(.transactions, Self.load) == [Self.summary])
    }

    // MISC-28: values are hidden below 3
    @Test("phases, and the names of fields") func phases() {
        #expect(
            lines(.phases, Self.load) == [
                "1.7 +0.0 ms begins: first",
                "1.7 +0.0 ms GET https://example.com/a?...",
                "1.7 +0.1 ms cache: load, because: nothingStored",
                "1.7 +0.0 ms DNS: looks up example.com",
                "1.7 +1.0 ms DNS: 2 addresses",
                "1.7 +1.0 ms connect: 127.0.0.1",
                "1.7 +2.0 ms connect: done",
                "1.7 +2.0 ms TLS: handshake",
                "1.7 +4.5 ms TLS: version 1.3, cipher suite 0x1301",
                "1.7 +4.6 ms connection: h2, new connection to 127.0.0.1:443",
                "1.7 > GET /a?... HTTP/2",
                "1.7 > host: [redacted]",
                "1.7 > authorization: [redacted]",
                "1.7 +4.7 ms request: head sent, 120 bytes",
                "1.7 +4.8 ms request: sent, 3 bytes of body",
                "1.7 +6.0 ms response: interim 103",
                "1.7 +7.0 ms response: first byte",
                "1.7 < HTTP/2 200",
                "1.7 < set-cookie: [redacted]",
                "1.7 < location: [redacted]",
                "1.7 < x-shown: [redacted]",
                "1.7 +7.1 ms response: 200, 96 bytes of head",
                "1.7 +9.0 ms response: ended, 50 bytes of body, 200 decoded",
                Self.summary,
            ])
    }

    // MISC-28: secrets are hidden at 3 as well
    @Test("values") func values() {
        let shown = lines(.values, Self.load)
        let hidden = lines(.phases, Self.load)
        #expect(
            zip(shown, hidden).filter { $0 != $1 }.map(\.0) == [
                "1.7 > host: example.com", "1.7 < location: /b?...", "1.7 < x-shown: plain",
            ])
        #expect(shown.count == hidden.count)
    }

    // MISC-28: text of a certificate cannot begin another line
    @Test("the trust in servers") func trust() {
        let results: [ServerTrustResult] = [
            .trusted("a.example", by: .system), .trusted("a.example", by: .additionalAuthority),
            .trusted("a.example", by: .delegate), .refused("a.example", by: .delegate),
            .refused("a.example", by: .evaluation, reason: "it is for \n7.7 GET"),
            .refused("a.example", by: .transportSecurity, reason: "the server is not trusted"),
        ]
        let events = [(0, .fetchStarted(.first))] + results.map { (Int64(1), LoadEvent.Kind.serverTrust($0)) }
        #expect(
            lines(.phases, events).dropFirst() == [
                "1.7 +0.1 ms trust: a.example trusted by the system's roots",
                "1.7 +0.1 ms trust: a.example trusted by an authority of the session",
                "1.7 +0.1 ms trust: a.example trusted by the delegate",
                "1.7 +0.1 ms trust: a.example refused by the delegate",
                "1.7 +0.1 ms trust: a.example refused by the evaluation of its certificates, because: it is for "
                    + "\\u{A}7.7 GET",
                "1.7 +0.1 ms trust: a.example refused by App Transport Security, because: the server is not trusted",
            ])
        #expect(lines(.transactions, events) == [])
    }

    // MISC-28
    @Test("other events") func others() {
        var used = Self.facts
        used.isReused = true
        used.isProxied = true
        used.remoteAddress = "::1"
        let request = LoadEvent.Kind.request(method: "POST", url: "http://a.example/")
        // Redirected, challenged, repeated, and finally lost.
        #expect(
            lines(
                .transactions,
                [
                    (0, request), (0, .fetchStarted(.first)), (1, .connectionAssigned(used)), (1, .requestStarted),
                    (2, .responseHead(status: 302, isHTTP10: true, bytes: 9)), (3, .fetchStarted(.redirect)),
                    (3, .request(method: "GET", url: "http://b.example/")), (4, .fetchStarted(.retry)),
                    (5, .connectionAssigned(used)), (5, .requestStarted),
                    (6, .responseHead(status: 200, isHTTP10: false, bytes: 9)),
                    (9, .exchangeBroken(sent: 4, content: 4, received: 7)), (9, .failed(code: -1005, decoded: 7)),
                    (9, .ended), (9, .taskFailed(code: -1005, reason: "lost")),
                ]) == [
                    "1.7 POST http://a.example/: 302, http/1.0, used connection to [::1]:443 by a proxy, "
                        + "received 9+0 bytes, 0.2 ms",
                    "1.7 GET http://b.example/: no response, 0.0 ms",
                    "1.7 GET http://b.example/: 200, failed -1005, h2, used connection to [::1]:443 by a proxy, "
                        + "sent 0+4 bytes, received 9+7 bytes, 0.5 ms",
                    "1.7 task: failed -1005, lost",
                ])
        // From the cache; of what is no HTTP; and what never came to a load.
        #expect(
            lines(
                .transactions,
                [
                    (0, .fetchStarted(.first)), (0, request), (1, .servedFromCache),
                    (2, .responseEnded(bytes: 0, decoded: 5)), (2, .ended),
                ]) == ["1.7 POST http://a.example/: from the cache, 5 decoded, 0.2 ms"])
        #expect(
            lines(
                .transactions,
                [(0, .request(method: "GET", url: "data:text/plain,secret")), (0, .fetchStarted(.first)), (1, .ended)])
                == ["1.7 GET data:text/plain,...: done, 0.0 ms"])
        #expect(
            lines(.transactions, [(0, request), (1, .taskFailed(code: -1002, reason: "unsupported URL"))])
                == ["1.7 POST http://a.example/: failed -1002, unsupported URL"])
        #expect(
            lines(
                .phases,
                [
                    (0, .fetchStarted(.first)), (0, request), (1, .waitingForConnectivity),
                    (
                        2,
                        .challenge(
                            method: "NSURLAuthenticationMethodHTTPBasic", host: "p", port: 80, isProxy: true,
                            failures: 1)
                    ), (3, .servedFromCache), (4, .failed(code: -1, decoded: 0)),
                ]) == [
                    "1.7 +0.0 ms begins: first", "1.7 +0.0 ms POST http://a.example/",
                    "1.7 +0.1 ms waits for connectivity",
                    "1.7 +0.2 ms challenge: NSURLAuthenticationMethodHTTPBasic of proxy p:80, 1 refused before",
                    "1.7 +0.3 ms cache: served", "1.7 +0.4 ms failed: -1",
                ])
    }

    // MISC-28, MISC-27
    @Test(
        "addresses",
        arguments: [
            ("http://a.example/b", "http://a.example/b"), ("http://u:p@a.example:8/b", "http://a.example:8/b"),
            ("http://u@a.example?q", "http://a.example?..."), ("http://a.example/#f?q", "http://a.example/#..."),
            ("/b?u=http://u:p@h/", "/b?..."), ("//u:p@h/b", "//h/b"),
            ("DATA:text/html;base64,c2VjcmV0", "DATA:text/html;base64,..."),
            ("data:secret", "data:secret,..."), ("mock:a?b", "mock:a?..."), ("", ""),
        ])
    func addresses(url: String, shown: String) {
        #expect(TraceText.address(url) == shown)
    }

    @Test("an address without end") func longAddress() {
        let shown = TraceText.address("http://a.example/" + String(repeating: "b", count: 100_000))
        #expect(shown.utf8.count == 503 && shown.hasSuffix("bbb..."))
    }

    // MISC-28
    @Test(
        "values of fields",
        arguments: [
            ("Accept", "a/b", "a/b"), ("Authorization", "Basic x", "[redacted]"), ("Cookie", "a=b", "[redacted]"),
            ("Set-Cookie", "a=b", "[redacted]"), ("Proxy-Authorization", "x", "[redacted]"),
            ("X-Api-Key", "x", "[redacted]"), ("x-amz-security-token", "x", "[redacted]"),
            ("X-Forwarded", "Bearer x", "[redacted]"), ("X-Forwarded", "bEARER x", "[redacted]"),
            ("Location", "/b?c=d", "/b?..."), ("Referer", "https://u:p@h/b?c#d", "https://h/b?..."),
            ("X-Next", "see https://u:p@h/b?c#d and /e?f", "see https://h/b?... and /e?f"),
            ("Link", "</a?b>; rel=next, <https://h/?c>; rel=prev", "</a?...>; rel=next, <https://h/?...>; rel=prev"),
            ("Location", "//u:p@h/b", "//h/b"), ("Location", "http://h//u@b/", "http://h//u@b/"),
            ("Refresh", "0; url=//u:p@h/b?c", "0; url=//h/b?..."), ("Refresh", "0;URL='//u:p@h/'", "0;URL='//h/'"),
            ("ETag", "\"?#\"", "\"?#\""), ("Sec-WebSocket-Protocol", "base64url.bearer.x, chat", "[redacted]"),
        ])
    func fields(name: String, value: String, shown: String) {
        #expect(TraceText.value(value, of: name) == shown)
    }

    // MISC-28: nothing from a server or a program moves the cursor, ends the line or turns it around
    @Test(
        "characters that a terminal obeys",
        arguments: [
            ("a\u{1B}[31mb", "a\\u{1B}[31mb"), ("a\r\nb\tc\u{0}", "a\\u{D}\\u{A}b\\u{9}c\\u{0}"),
            ("\u{7F}\u{9B}", "\\u{7F}\\u{9B}"), ("\u{202E}\u{2028}\u{200F}", "\\u{202E}\\u{2028}\\u{200F}"),
            ("ü 😀 e\u{301}", "ü 😀 e\u{301}"),
        ])
    func characters(text: String, shown: String) {
        #expect(TraceText.line(text) == shown)
    }

    // MISC-28
    @Test("lines and heads are bounded") func bounds() {
        #expect(TraceText.line(String(repeating: "a", count: 1_000)) == String(repeating: "a", count: 1_000))
        #expect(TraceText.line(String(repeating: "a", count: 1_001)) == String(repeating: "a", count: 1_000) + "...")
        // No character is cut.
        #expect(TraceText.line(String(repeating: "ü", count: 600)) == String(repeating: "ü", count: 500) + "...")
        #expect(TraceText.line("a" + String(repeating: "\u{1B}", count: 9_999)).utf8.count <= 1_003)
        let fields = (0..<2_000).map { MessageHead.Field("f\($0)", String(repeating: "x", count: 9_999)) }
        let head = MessageHead(.response(status: 200), version: "HTTP/1.1", fields: fields)
        let lines = lines(.values, [(0, .fetchStarted(.first)), (1, .messageHead(head))])
        #expect(lines.count == 103)
        #expect(lines.last == "1.7 < and 1900 more fields")
        #expect(lines.allSatisfy { $0.utf8.count <= 1_003 })
    }

    // MISC-28
    @Test(
        "what the variable says",
        arguments: [
            ("1", 1), ("2", 2), ("3", 3), ("4", 3), ("99", 3), ("0", nil), ("-1", nil), ("", nil), ("yes", nil),
            ("1x", nil), (" 1", nil), ("99999999999999999999", nil),
        ])
    func level(text: String, level: Int?) {
        #expect(TraceLevel(text)?.rawValue == level)
    }

    // MISC-28: what a server or a program says of itself is not logged
    @Test(
        "reasons",
        arguments: [
            (LoadError.timedOut, "The request timed out."),
            (.cannotConnectToHost(111), "Could not connect to the server. (NSPOSIXErrorDomain 111)"),
            (
                .certificateHasBadDate(10, "certificate has expired"),
                "The certificate for this server has expired. (URLLoadingTLSErrorDomain 10: certificate has expired)"
            ),
            (
                LoadError(code: -1011, cause: .ftp(code: 530, text: "no, bob")),
                "There was a bad response from the server. (URLLoadingFTPErrorDomain 530)"
            ),
            (
                .foreign(NSError(domain: "Own", code: 7, userInfo: [NSLocalizedDescriptionKey: "secret"]), code: -2000),
                "Own 7"
            ),
        ])
    func reasons(error: LoadError, shown: String) {
        #expect(error.reasonForTrace == shown)
    }
}
