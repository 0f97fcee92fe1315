import Foundation
import TestSupport
import Testing
import URLLoading

/// Requests as received by the server.
@Suite(.leavesNothing) struct RequestHeadTests {
    /// The request, as received by the server.
    private func sent(
        _ change: @Sendable (inout URLRequest) -> Void = { _ in }, path: String = "/",
        configuring configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> ReceivedRequest {
        let server = try ScriptedServer.answering(.status(204))
        defer { server.stop() }
        var request = URLRequest(url: server.url(path))
        change(&request)
        let recorded = try await LoadRecorder.load(request, configuring: configure)
        #expect(recorded == [.response(204), .succeeded, .invalid])
        #expect(server.requests.count == 1)
        return try #require(server.requests.first)
    }

    /// Name and value of every field, sorted, without those that depend on program and user.
    private func fields(_ request: ReceivedRequest) -> [String] {
        request.fields.filter { !["User-Agent", "Accept-Language", "Host"].contains($0.name) }
            .map { "\($0.name): \($0.value)" }.sorted()
    }

    private static let defaults = ["Accept-Encoding: gzip, deflate", "Accept: */*", "Connection: keep-alive"]

    // MISC-1, ENC-1
    @Test("a request without a body", arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "FooBar"])
    func aRequestWithoutABody(method: String) async throws {
        let request = try await sent { $0.httpMethod = method }
        #expect(request.headText.hasPrefix("\(method) / HTTP/1.1\r\nHost: 127.0.0.1:"))
        #expect(fields(request) == Self.defaults)
        #expect(request.raw == request.head)
        #expect(Set(request.fields.map { $0.name.lowercased() }).count == request.fields.count)
    }

    // MISC-2, MISC-3
    @Test("User-Agent and Accept-Language") func userAgentAndAcceptLanguage() async throws {
        let request = try await sent()
        let agent = try #require(request["User-Agent"])
        #expect(agent.wholeMatch(of: /\S+(\/\S+| \(unknown version\)) URLSessionLinux\/\S+ Linux\/\S+/) != nil)
        let language = try #require(request["Accept-Language"])
        #expect(language.wholeMatch(of: /[A-Za-z0-9-]+(,[A-Za-z0-9-]+;q=0\.\d+)*/) != nil)
    }

    // MISC-4, MISC-5
    @Test("a POST with data") func aPOSTWithData() async throws {
        let request = try await sent {
            $0.httpMethod = "POST"
            $0.httpBody = Data("a=b".utf8)
        }
        #expect(request.headText.hasPrefix("POST / HTTP/1.1\r\nHost: "))
        #expect(
            fields(request)
                == (Self.defaults + ["Content-Length: 3", "Content-Type: application/x-www-form-urlencoded"]).sorted())
        #expect(request.rawBody == Array("a=b".utf8))
    }

    // MISC-4
    @Test("a POST with data and a type") func aPOSTWithDataAndAType() async throws {
        let request = try await sent {
            $0.httpMethod = "POST"
            $0.httpBody = Data("{}".utf8)
            $0.setValue("application/json", forHTTPHeaderField: "content-type")
        }
        #expect(fields(request) == (Self.defaults + ["Content-Length: 2", "content-type: application/json"]).sorted())
    }

    // MISC-4, MISC-5
    @Test("an empty body is announced where one is meant", arguments: ["POST", "PUT"], [Data?.none, Data()])
    func anEmptyBodyIsAnnouncedWhereOneIsMeant(method: String, body: Data?) async throws {
        let request = try await sent {
            $0.httpMethod = method
            $0.httpBody = body
        }
        #expect(fields(request) == (Self.defaults + ["Content-Length: 0"]).sorted())
        #expect(request.raw == request.head)
    }

    // MISC-4, MISC-5
    @Test("other methods get no type", arguments: ["PUT", "PATCH", "DELETE", "PROPFIND"])
    func otherMethodsGetNoType(method: String) async throws {
        let request = try await sent {
            $0.httpMethod = method
            $0.httpBody = Data("body".utf8)
        }
        #expect(fields(request) == (Self.defaults + ["Content-Length: 4"]).sorted())
        #expect(request.bodyText == "body")
    }

    // MISC-5, CONN-23
    @Test("a stream is sent chunked", arguments: [1, 3, 65_536, 200_000])
    func aStreamIsSentChunked(length: Int) async throws {
        let body = [UInt8].pattern(count: length)
        let request = try await sent {
            $0.httpMethod = "POST"
            $0.setValue("x/y", forHTTPHeaderField: "Content-Type")
            $0.httpBodyStream = InputStream(data: Data(body))
        }
        #expect(fields(request) == (Self.defaults + ["Content-Type: x/y", "Transfer-Encoding: chunked"]).sorted())
        #expect(request.body == body)
        #expect(request.trailers == [])
        #expect(request.rawBody.suffix(7) == Array("\r\n0\r\n\r\n".utf8))
    }

    // MISC-5
    @Test("a stream of nothing is one empty chunk") func aStreamOfNothingIsOneEmptyChunk() async throws {
        let request = try await sent {
            $0.httpMethod = "PUT"
            $0.httpBodyStream = InputStream(data: Data())
        }
        #expect(request["Transfer-Encoding"] == "chunked")
        #expect(request.rawBody == Array("0\r\n\r\n".utf8))
    }

    // MISC-6, T-15
    @Test("a stream with Content-Length is sent unchunked") func aStreamWithContentLengthIsSentUnchunked()
        async throws
    {
        let request = try await sent {
            $0.httpMethod = "PUT"
            $0.setValue("5", forHTTPHeaderField: "Content-Length")
            $0.httpBodyStream = InputStream(data: Data("hello".utf8))
        }
        #expect(fields(request) == (Self.defaults + ["Content-Length: 5"]).sorted())
        #expect(request.rawBody == Array("hello".utf8))
    }

    // MISC-6
    @Test("reserved fields of the caller are replaced") func reservedFieldsOfTheCallerAreReplaced()
        async throws
    {
        let request = try await sent {
            $0.httpMethod = "POST"
            $0.httpBody = Data("hello".utf8)
            $0.setValue("elsewhere.example", forHTTPHeaderField: "Host")
            $0.setValue("close", forHTTPHeaderField: "Connection")
            $0.setValue("timeout=1", forHTTPHeaderField: "Keep-Alive")
            $0.setValue("Basic secret", forHTTPHeaderField: "proxy-authorization")
            $0.setValue("Basic", forHTTPHeaderField: "WWW-Authenticate")
            $0.setValue("3", forHTTPHeaderField: "Content-Length")
            $0.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
            $0.setValue("Bearer token", forHTTPHeaderField: "Authorization")
            $0.setValue("x/y", forHTTPHeaderField: "Content-Type")
        }
        #expect(
            fields(request)
                == (Self.defaults + ["Authorization: Bearer token", "Content-Length: 5", "Content-Type: x/y"]).sorted())
        #expect(request.values(of: "Host").map { $0.hasPrefix("127.0.0.1:") } == [true])
        #expect(request.rawBody == Array("hello".utf8))
    }

    // MISC-1, MISC-7, ENC-2
    @Test(
        "the caller's fields take the place of the usual ones",
        arguments: ["Accept", "accept-encoding", "ACCEPT-LANGUAGE", "User-Agent"])
    func theCallersFieldsTakeThePlaceOfTheUsualOnes(name: String) async throws {
        let request = try await sent { $0.setValue("mine", forHTTPHeaderField: name) }
        #expect(request.fields.filter { $0.name.lowercased() == name.lowercased() } == [.init(name, "mine")])
    }

    // MISC-7: in their own spelling, joined where added; beyond the rule, in the order in which they were set
    @Test("the caller's fields keep order and spelling") func theCallersFieldsKeepOrderAndSpelling() async throws {
        let request = try await sent {
            $0.setValue("1", forHTTPHeaderField: "x-Second")
            $0.setValue("2", forHTTPHeaderField: "A-First")
            $0.addValue("3", forHTTPHeaderField: "X-SECOND")
            $0.setValue("", forHTTPHeaderField: "X-Empty")
        }
        #expect(
            request.fields.prefix(4).dropFirst()
                == [.init("x-Second", "1,3"), .init("A-First", "2"), .init("X-Empty", "")])
    }

    // MISC-1: the request's fields before the session's, the session's before the usual ones
    @Test("the session's fields are added where the request has none")
    func theSessionsFieldsAreAddedWhereTheRequestHasNone() async throws {
        let request = try await sent { request in
            request.setValue("request", forHTTPHeaderField: "X-Both")
        } configuring: {
            $0.httpAdditionalHeaders = ["x-both": "session", "X-Session": "session", "Accept": "text/plain"]
        }
        #expect(request.values(of: "X-Both") == ["request"])
        #expect(request.values(of: "X-Session") == ["session"])
        #expect(request.values(of: "Accept") == ["text/plain"])
    }

    // MISC-22
    @Test(
        "known methods are spelt in capitals",
        arguments: [("get", "GET"), ("Head", "HEAD"), ("post", "POST"), ("dElEtE", "DELETE"), ("Foo", "Foo")])
    func knownMethodsAreSpeltInCapitals(method: String, expected: String) async throws {
        #expect(try await sent { $0.httpMethod = method }.method == expected)
    }

    // MISC-27
    @Test(
        "the target",
        arguments: [
            ("", "/"), ("/", "/"), ("/a/b", "/a/b"), ("/a?b=c&d", "/a?b=c&d"), ("?q", "/?q"), ("/a?", "/a?"),
            ("/a#fragment", "/a"), ("#fragment", "/"), ("/a?b#c?d", "/a?b"), ("/%2F%20%E4", "/%2F%20%E4"),
            ("/a//b/../c", "/a//b/../c"), ("/caf\u{E9}", "/caf%C3%A9"), ("/a b", "/a%20b"), ("/a;b=c,d", "/a;b=c,d"),
            ("/?a=b?c/d", "/?a=b?c/d"), ("/{x}|y", "/%7Bx%7D%7Cy"),
        ])
    func theTarget(rest: String, target: String) async throws {
        let server = try ScriptedServer.answering(.status(204))
        defer { server.stop() }
        let url = try #require(URL(string: "http://user:pass%20word@127.0.0.1:\(server.port)\(rest)"))
        #expect(try await LoadRecorder.load(url) == [.response(204), .succeeded, .invalid])
        #expect(server.requests.map(\.target) == [target])
        // User information is in neither of them.
        #expect(server.requests.map { $0["Host"] } == ["127.0.0.1:\(server.port)"])
        #expect(!server.requests.contains { $0.headText.contains("user") || $0.headText.contains("pass") })
    }

    // MISC-6: no part of a request may begin another
    @Test(
        "a method that is none is not sent",
        arguments: ["GET /evil HTTP/1.1\r\nX:", "A B", "A\nB", "G\u{E9}T", "", "\0"])
    func anInvalidMethodIsNotSent(method: String) async throws {
        let server = try ScriptedServer.answering(.status(204))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with { $0.httpMethod = method }
        let recorded = try await LoadRecorder.load(request)
        #expect(recorded.count == 2 && recorded.last == .invalid)
        #expect(recorded.first != .succeeded)
        #expect(server.requests.isEmpty)
    }

    // MISC-6
    @Test(
        "a field that is none is not sent",
        arguments: [
            ("X", "a\r\nEvil: b"), ("X", "a\nEvil: b"), ("X", "a\rEvil: b"), ("X", "a\0b"), ("X\r\nEvil", "a"),
            ("X: y\r\nEvil", "a"), ("", "a"), ("X Y", "a"),
        ])
    func anInvalidFieldIsNotSent(name: String, value: String) async throws {
        let request = try await sent {
            $0.setValue(value, forHTTPHeaderField: name)
            $0.addValue(value, forHTTPHeaderField: name)
        }
        #expect(!request.headText.lowercased().contains("\nevil"))
        #expect(!request.head.contains(0))
        #expect(fields(request).filter { !$0.hasPrefix("X: ") } == Self.defaults)
    }
}
