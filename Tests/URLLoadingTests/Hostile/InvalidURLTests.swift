import Foundation
import TestSupport
import Testing
import URLLoading

/// Invalid URLs, and unusual valid ones.
@Suite(.leavesNothing) struct InvalidURLTests {
    // ERR-5, ERR-15
    @Test(
        "an address that cannot be loaded",
        arguments: [
            ("http:///path", URLError.Code.badURL), ("http://", .badURL), ("http:path", .unsupportedURL),
            ("http:?x", .unsupportedURL),
            ("http://user@/", .badURL), ("http://:80/", .badURL), ("http://127.0.0.1:0/", .badURL),
            ("http://127.0.0.1:65536/", .badURL), ("http://127.0.0.1:99999999999999999999/", .badURL),
            ("foo://127.0.0.1/", .unsupportedURL), ("gopher://127.0.0.1/", .unsupportedURL),
            ("mailto:somebody@example.com", .unsupportedURL), ("about:blank", .unsupportedURL),
            ("ws://127.0.0.1/", .unsupportedURL), ("wss://127.0.0.1/", .unsupportedURL), ("path", .unsupportedURL),
            ("//127.0.0.1/", .unsupportedURL), ("http://this%20is%20not%20a%20valid%20URL", .cannotFindHost),
            ("http://\(String(repeating: "a", count: 64)).test/", .cannotFindHost),
            ("http://\(String(repeating: "a.", count: 200))test/", .cannotFindHost),
        ])
    func anAddressThatCannotBeLoaded(text: String, code: URLError.Code) async throws {
        let url = try #require(URL(string: text))
        #expect(try await LoadRecorder.load(url) == [.failed(code), .invalid])
    }

    // ERR-5
    @Test("no address at all") func noAddressAtAll() async throws {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        request.url = nil
        #expect(try await LoadRecorder.load(request) == [.failed(.unsupportedURL), .invalid])
    }

    // ERR-5, CONN-12
    @Test("a port that refuses") func aPortThatRefuses() async throws {
        let port = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
        #expect(try await LoadRecorder.load(url) == [.failed(.cannotConnectToHost), .invalid])
    }

    // ERR-5, CONN-12: by name, whatever addresses the name has
    @Test("a host whose port refuses the connection") func aHostWhosePortRefusesTheConnection() async throws {
        let port = try RefusingPort(on: [.ipv4, .ipv6])
        let url = try #require(URL(string: "http://localhost:\(port.port)/"))
        #expect(try await LoadRecorder.load(url) == [.failed(.cannotConnectToHost), .invalid])
    }

    // ERR-2, ERR-3, ERR-4
    @Test("the error names the cause") func theErrorNamesTheCause() async throws {
        let port = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/path"))
        try await URLSession.using { session in
            do {
                _ = try await session.data(from: url)
                Issue.record("no error")
            } catch let error as URLError {
                #expect(error.code == .cannotConnectToHost)
                #expect(error.failingURL == url)
                #expect(error.localizedDescription == "Could not connect to the server.")
                let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
                #expect(cause?.domain == NSPOSIXErrorDomain)
                #expect(cause?.code == Int(ECONNREFUSED))
                #expect(error.userInfo["NSErrorFailingURLStringKey"] as? String == url.absoluteString)
                #expect(
                    error.userInfo["_NSURLErrorFailingURLSessionTaskErrorKey"] as? String == "URLSessionDataTask <1>")
                #expect(
                    error.userInfo["_NSURLErrorRelatedURLSessionTaskErrorKey"] as? [String]
                        == ["URLSessionDataTask <1>"])
            }
        }
    }

    // ERR-9
    @Test("a GET with a body is refused before anything is sent") func aGETWithABodyIsRefusedBeforeAnythingIsSent()
        async throws
    {
        let server = try ScriptedServer.answering(.text("never"))
        defer { server.stop() }
        let withData = URLRequest(url: server.url()).with { $0.httpBody = Data("x".utf8) }
        #expect(try await LoadRecorder.load(withData) == [.failed(.dataLengthExceedsMaximum), .invalid])
        let withStream = URLRequest(url: server.url()).with { $0.httpBodyStream = InputStream(data: Data("x".utf8)) }
        #expect(try await LoadRecorder.load(withStream) == [.failed(.dataLengthExceedsMaximum), .invalid])
        #expect(server.connectionCount == 0)
    }

    // ERR-9: nothing to send is no body
    @Test("a GET with an empty body") func aGETWithAnEmptyBody() async throws {
        let server = try ScriptedServer.answering { .text($0.summary) }
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with { $0.httpBody = Data() }
        #expect(try await LoadRecorder.load(request) == [.response(200), .data("GET / "), .succeeded, .invalid])
        #expect(server.requests.map { $0["Content-Length"] } == [nil])
    }

    // MISC-27, R-13: spaces and letters of other alphabets in a path and a query are sent as what a URL may hold
    @Test(
        "a path and a query",
        arguments: [
            ("/a b/c?d e=f g", "/a%20b/c?d%20e=f%20g"), ("/%20%2F%7e", "/%20%2F%7e"),
            ("/\u{FC}?\u{20AC}", "/%C3%BC?%E2%82%AC"),
            ("?q", "/?q"), ("/#part", "/"), ("/a?#", "/a?"), ("//double//", "//double//"),
            ("/[x]|\"<>", "/%5Bx%5D%7C%22%3C%3E"),
        ])
    func aPathAndAQuery(written: String, target: String) async throws {
        let server = try ScriptedServer.answering { .text($0.target) }
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)\(written)"))
        #expect(try await LoadRecorder.load(url) == [.response(200), .data(target), .succeeded, .invalid])
    }

    // MISC-1, MISC-27: what works however odd it looks
    @Test(
        "an odd address that can be loaded",
        arguments: [
            ("http://[::1]:%d/", "[::1]:%d"), ("http://[0:0:0:0:0:0:0:1]:%d/", "[0:0:0:0:0:0:0:1]:%d"),
            ("http://[::ffff:127.0.0.1]:%d/", "[::ffff:127.0.0.1]:%d"), ("http://LOCALHOST:%d/", "localhost:%d"),
            ("HTTP://127.0.0.1:%d/", "127.0.0.1:%d"), ("http://127.1:%d/", "127.1:%d"),
            ("http://127.0.0.1:0000%d", "127.0.0.1:%d"), ("http://user:secret@127.0.0.1:%d/", "127.0.0.1:%d"),
        ])
    func anOddAddressThatCanBeLoaded(text: String, host: String) async throws {
        let server = try ScriptedServer.answering(.dualStack) { .text($0["Host"] ?? "") }
        defer { server.stop() }
        let url = try #require(URL(string: text.replacingOccurrences(of: "%d", with: "\(server.port)")))
        let expected = host.replacingOccurrences(of: "%d", with: "\(server.port)")
        #expect(
            try await LoadRecorder.load(url) == [.response(200), .data(expected), .succeeded, .invalid])
    }

    // CONN-21: every name below localhost is this machine's own (RFC 6761)
    @Test(
        "a name below localhost",
        arguments: [
            "b\u{FC}cher.localhost", "B\u{DC}CHER.localhost", "xn--bcher-kva.localhost", "b%C3%BCcher.localhost",
        ])
    func aNameBelowLocalhost(name: String) async throws {
        let server = try ScriptedServer.answering(.dualStack) { .text($0["Host"] ?? "") }
        defer { server.stop() }
        let url = try #require(URL(string: "http://\(name):\(server.port)/"))
        #expect(
            try await LoadRecorder.load(url)
                == [.response(200), .data("xn--bcher-kva.localhost:\(server.port)"), .succeeded, .invalid])
    }

    // CONN-21: a name of other letters goes to the resolver in its ASCII form
    @Test("an international name fails as any other unknown name") func anInternationalNameFailsAsAnyOtherUnknownName()
        async throws
    {
        let url = try #require(URL(string: "http://b\u{FC}cher.invalid/"))
        #expect(try await LoadRecorder.load(url) == [.failed(.cannotFindHost), .invalid])
    }
}
