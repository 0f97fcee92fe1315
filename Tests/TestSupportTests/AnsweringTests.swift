import Foundation
import TestSupport
import Testing

@Suite(.needs(.curl)) struct AnsweringTests {
    @Test("a connection is kept for the next request") func aConnectionIsKeptForTheNextRequest() throws {
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/chunks": .chunked(["ab", "c"], trailers: [.init("X", "y")])
            case "/end": .untilClose("until")
            case "/moved": .redirect(to: "/end")
            case "/empty": .status(204)
            default: try .echo(request)
            }
        }
        defer { server.stop() }
        let urls = ["/chunks", "/empty", "/moved", "/echo", "/end"].map { server.url($0).absoluteString }
        let format = "%{http_code} %{num_connects};"
        let result = try ChildProcess.run(
            "/usr/bin/curl",
            ["--silent", "--show-error", "--user-agent", "c", "--data", "body", "--write-out", format] + urls)
        #expect(result.exit == .code(0))
        let echo =
            #"{"body":"body","headers":[["Host","127.0.0.1:\#(server.port)"],["User-Agent","c"],["Accept","*/*"],"#
            + #"["Content-Length","4"],["Content-Type","application/x-www-form-urlencoded"]],"method":"POST","#
            + #""target":"/echo"}"#
        #expect(result.output == "abc200 1;204 0;302 0;\(echo)200 0;until200 0;")
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.target) == ["/chunks", "/empty", "/moved", "/echo", "/end"])
    }

    @Test("held responses and paced bodies are sent at the test's signals")
    func heldResponsesAndPacedBodiesGoWhenTheTestSaysSo() throws {
        let head = Signal("the head")
        let body = Signal("the body")
        let permits = Permits()
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/held": .text("x").held(until: head).bodyHeld(until: body)
            default: .paced(Array("abcdef".utf8), portion: 2, by: permits)
            }
        }
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send("GET /held HTTP/1.1\r\n\r\n")
        let connection = try server.connection(0)
        #expect(connection.bytesAccepted == 0)
        head.fire()
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
        #expect(try client.receive(exactly: expected.utf8.count) == expected)
        body.fire()
        #expect(try client.receive(exactly: 1) == "x")

        try client.send("GET /paced HTTP/1.1\r\nConnection: close\r\n\r\n")
        let second = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n"
        #expect(try client.receive(exactly: second.utf8.count) == second)
        for portion in ["ab", "cd", "ef"] {
            permits.release()
            #expect(try client.receive(exactly: 2) == portion)
            #expect(permits.available == 0)
        }
        #expect(try client.receiveToEnd() == "")
    }

    @Test("a body without end stops with its client, which is no failure")
    func aBodyWithoutEndStopsWithItsClientWhichIsNoFailure() throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send("GET / HTTP/1.1\r\n\r\n")
        let connection = try server.connection(0)
        try connection.waitUntilBlocked()
        client.reset()
        try server.finish()
        #expect(connection.end == .reset)
    }

    @Test("HEAD gets the head alone") func headGetsTheHeadAlone() throws {
        let server = try ScriptedServer.answering(.bytes([1, 2, 3]))
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send("HEAD / HTTP/1.0\r\n\r\n")
        #expect(try client.receiveToEnd() == "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n")
    }
}
