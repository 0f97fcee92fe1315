import Foundation
import TestSupport
import Testing
import URLLoading

/// Connections that are lost in each phase of a load.
@Suite(.leavesNothing) struct BrokenConnectionTests {
    // ERR-5, ERR-6
    @Test(
        "a connection that breaks is lost once",
        arguments: [
            ([Step.reset], [RecordedEvent.failed(.networkConnectionLost)]),
            ([.close], [.failed(.networkConnectionLost)]),
            ([.expectRequest, .reset], [.failed(.networkConnectionLost)]),
            ([.expectRequest, .close], [.failed(.networkConnectionLost)]),
            ([.expectRequest, .send("HTTP/1.1 200 OK\r\nX"), .reset], [.failed(.networkConnectionLost)]),
            (
                [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .reset],
                [.response(200), .data("hello"), .failed(.networkConnectionLost)]
            ),
            (
                [.expectRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .reset],
                [.response(200), .data("hello"), .failed(.networkConnectionLost)]
            ),
            (
                [.expectRequest, .send("HTTP/1.1 103 Early Hints\r\n\r\n"), .reset],
                [.informational(103), .failed(.networkConnectionLost)]
            ),
            (
                [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), .reset],
                [.response(200), .failed(.networkConnectionLost)]
            ),
            (
                [
                    .expectRequest,
                    .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y"),
                    .reset,
                ],
                [.response(200), .data("hello"), .failed(.networkConnectionLost)]
            ),
            (
                [.expectRequest, .send("HTTP/1.1 200 OK\r\n\r\nhello"), .reset],
                [.response(200), .data("hello"), .failed(.networkConnectionLost)]
            ),
        ])
    func aConnectionThatBreaksIsLostOnce(steps: [Step], recorded: [RecordedEvent]) async throws {
        let server = try ScriptedServer(steps: steps)
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == recorded + [.invalid])
        // What was not out yet when the connection closed goes over another, three times in all (CONN-10).
        #expect((1...(steps.count == 1 ? 3 : 1)).contains(server.connectionCount))
    }

    // ERR-5, T-29: while the body is on its way
    @Test("a reset in the middle of an upload") func aResetInTheMiddleOfAnUpload() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            _ = try connection.receive(exactly: 100_000)
            connection.reset()
        }
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data(count: 32 << 20)
        }
        #expect(try await LoadRecorder.load(request) == [.failed(.networkConnectionLost), .invalid])
    }

    // CONN-10: a POST goes out only once, so it gets no connection whose end the loop has not read yet
    @Test("an idle connection that was closed a moment ago", arguments: ["POST", "PUT"])
    func anIdleConnectionThatWasClosedAMomentAgo(
        method: String
    ) async throws {
        for _ in 0..<20 {
            let close = Signal("the end of the idle connection")
            let isClosed = Signal("closed")
            let server = try ScriptedServer { connection in
                while let request = try connection.nextRequest() {
                    try connection.send(.text(request.method), to: request)
                    if connection.index > 0 { continue }
                    try connection.wait(for: close)
                    connection.close()
                    return isClosed.fire()
                }
            }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            delegate.during = { call, session, _ in
                guard call == .completed(1, nil) else { return }
                close.fire()
                try? isClosed.wait()
                let next = URLRequest(url: server.url()).with {
                    $0.httpMethod = method
                    // Not even a PUT can be sent again when its body comes from a stream.
                    if method == "PUT" { $0.httpBodyStream = InputStream(data: Data("body".utf8)) }
                }
                session.dataTask(with: next).resume()
                session.finishTasksAndInvalidate()
            }
            let session = URLSession(delegate) { _ in }
            session.dataTask(with: server.url()).resume()
            let calls = try await delegate.callsUntilInvalid().of(2).filter {
                if case .sent = $0 { false } else { true }
            }
            #expect(
                calls == [.created(2), .response(2, 200), .data(2, method), .metrics(2), .completed(2, nil)])
            #expect(server.connectionCount == 2)
        }
    }

    // CONN-10: the server closes a connection that is idle, in order or not
    @Test("an idle connection that breaks is replaced", arguments: [Step.close, .reset])
    func anIdleConnectionThatBreaksIsReplaced(end: Step) async throws {
        let broken = Signal("the connection to be broken")
        let server = try ScriptedServer(connections: [
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"), end, .fire(broken)],
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"), .waitForClose],
        ])
        defer { server.stop() }
        try await URLSession.using { session in
            #expect(try await session.text(server.url()) == "one")
            try await broken.wait()
            #expect(try await session.text(server.url()) == "two")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-10: a GET on a reused connection that dies without an answer goes out again; one on a new does not
    @Test(
        "an idempotent request is repeated when a reused connection dies", arguments: ["GET", "HEAD", "PUT", "DELETE"])
    func anIdempotentRequestIsRepeatedWhenAReusedConnectionIsLost(method: String) async throws {
        let server = try ScriptedServer(connections: [
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .expectRequest, .reset],
            [.expect(method: method, target: "/again"), .send("HTTP/1.1 204 Done\r\n\r\n"), .waitForClose],
        ])
        defer { server.stop() }
        try await URLSession.using { session in
            _ = try await session.data(from: server.url("/first"))
            let request = URLRequest(url: server.url("/again")).with { $0.httpMethod = method }
            let (_, response) = try await session.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 204)
        }
        #expect(server.connectionCount == 2)
        #expect(server.requests.map(\.target) == ["/first", "/again", "/again"])
    }

    // CONN-10, ERR-5: the server may have acted on it
    @Test("any other request is not", arguments: ["POST", "PATCH", "MKCOL"])
    func anyOtherRequestIsNot(method: String) async throws {
        let server = try ScriptedServer(connections: [
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .expectRequest, .reset],
            [.expectRequest, .send("HTTP/1.1 204 Done\r\n\r\n"), .waitForClose],
        ])
        defer { server.stop() }
        try await URLSession.using { session in
            _ = try await session.data(from: server.url("/first"))
            let request = URLRequest(url: server.url("/once")).with {
                $0.httpMethod = method
                $0.httpBody = Data("x".utf8)
            }
            #expect(await failure { _ = try await session.data(for: request) } == .networkConnectionLost)
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.target) == ["/first", "/once"])
    }

    // CONN-10: once an answer has begun there is no second try
    @Test("a request is not repeated after its response has begun") func aRequestIsNotRepeatedAfterItsResponseHasBegun()
        async throws
    {
        let server = try ScriptedServer(connections: [
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .expectRequest,
                .send("HTTP/1.1 2"), .close,
            ]
        ])
        defer { server.stop() }
        try await URLSession.using { session in
            _ = try await session.data(from: server.url("/first"))
            #expect(
                await failure { _ = try await session.data(from: server.url("/second")) } == .networkConnectionLost)
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-10: a server that never answers is not asked for ever
    @Test("a server that always hangs up is asked twice") func aServerThatAlwaysHangsUpIsAskedTwice() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            if connection.index == 0 {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                _ = try connection.readRequest()
            }
            connection.close()
        }
        defer { server.stop() }
        try await URLSession.using { session in
            _ = try await session.data(from: server.url("/first"))
            #expect(
                await failure { _ = try await session.data(from: server.url("/second")) } == .networkConnectionLost)
        }
        #expect(server.requests.map(\.target) == ["/first", "/second", "/second"])
    }

    // CONN-1: excess bytes are not taken for the next response
    @Test(
        "bytes after a response are ignored",
        arguments: [
            "garbage", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "\r\n", "\0",
        ])
    func bytesAfterAResponseAreIgnored(extra: String) async throws {
        let server = try ScriptedServer(connections: [
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none\(extra)"), .waitForClose],
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"), .waitForClose],
        ])
        defer { server.stop() }
        try await URLSession.using { session async throws in
            #expect(try await session.text(server.url()) == "one")
            #expect(try await session.text(server.url()) == "two")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-1: unsolicited bytes close an idle connection
    @Test(
        "unsolicited bytes end an idle connection",
        arguments: [
            "garbage", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        ])
    func unsolicitedBytesEndAnIdleConnection(extra: String) async throws {
        let isRead = Signal("the first response to be read")
        let server = try ScriptedServer(connections: [
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"), .wait(isRead), .send(extra),
                .waitForClose,
            ],
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"), .waitForClose],
        ])
        defer { server.stop() }
        try await URLSession.using { session in
            #expect(try await session.text(server.url()) == "one")
            isRead.fire()
            // Closed at once, not only when the next request comes.
            try await server.connection(0).waitForEnd()
            #expect(try await session.text(server.url()) == "two")
        }
        #expect(server.connectionCount == 2)
    }
}
