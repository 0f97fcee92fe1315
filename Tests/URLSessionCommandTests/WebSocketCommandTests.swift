import Foundation
import TestSupport
import Testing

/// `urlsession ws`, against a server that is written in the tests.
@Suite struct WebSocketCommandTests {
    private typealias Outcome = RunningCommand.Outcome

    private func run(
        _ server: ScriptedServer, _ arguments: String..., input: String = "", host: String? = nil
    ) throws -> Outcome {
        let url = server.webSocketURL(host: host).absoluteString
        return try RunningCommand.run(["ws", url] + arguments, input: input, server: server)
    }

    /// Waits for the end of the scripts, which fail if the client does what it must not.
    private func check(_ server: ScriptedServer) throws {
        try server.finish()
        server.stop()
    }

    // MARK: Messages

    // WS-6, WS-10: what was sent before the end of the input comes back before the close frame
    @Test("lines become messages, and messages lines") func lines() throws {
        let received = EventRecorder<WebSocketMessage>()
        let server = try ScriptedServer.webSocket { connection in
            while let message = try connection.readMessage() {
                received.record(message)
                try connection.send(message)
            }
            try connection.demandClose(1000)
            try connection.answerClose()
        }
        let outcome = try run(server, input: "one\n\nthr\u{E9}e\nwithout an end")
        #expect(outcome == Outcome(exit: .code(0), output: "one\n\nthr\u{E9}e\nwithout an end\n"))
        #expect(received.events == [.text("one"), .text(""), .text("thr\u{E9}e"), .text("without an end")])
        try check(server)
    }

    // WS-1: http: stands for ws:
    @Test("an http: URL, and one without a scheme") func schemes() throws {
        let server = try ScriptedServer.webSocketEcho()
        for url in ["http://127.0.0.1:\(server.port)/", "127.0.0.1:\(server.port)"] {
            #expect(try RunningCommand.run(["ws", url], input: "a") == Outcome(exit: .code(0), output: "a\n"))
        }
        try check(server)
    }

    @Test("binary messages are written as they are") func binary() throws {
        let received = EventRecorder<WebSocketMessage>()
        let server = try ScriptedServer.webSocket { connection in
            while let message = try connection.readMessage() {
                received.record(message)
                try connection.send(message)
            }
            try connection.answerClose()
        }
        #expect(try run(server, "--binary", input: "a\nb") == Outcome(exit: .code(0), output: "a\nb"))
        #expect(received.events == [.binary(Array("a\nb".utf8))])
        try check(server)
    }

    @Test("--whole sends one message", arguments: [true, false]) func whole(isBinary: Bool) throws {
        let text = (0..<30_000).map { "line \($0)\n" }.joined()
        let received = EventRecorder<WebSocketMessage>()
        let server = try ScriptedServer.webSocket { connection in
            while let message = try connection.readMessage() { received.record(message) }
            try connection.answerClose()
        }
        let url = server.webSocketURL().absoluteString
        let arguments = ["ws", url, "--whole"] + (isBinary ? ["--binary"] : [])
        #expect(try RunningCommand.run(arguments, input: text) == Outcome(exit: .code(0), output: ""))
        #expect(received.events == [isBinary ? .binary(Array(text.utf8)) : .text(text)])
        try check(server)
    }

    // WS-17: also those that were not read yet when the server closed
    @Test("all messages before the close frame are written") func manyMessages() throws {
        let texts = (0..<1000).map { "message \($0)" }
        let server = try ScriptedServer.webSocket { connection in
            try connection.send(texts.map { WebSocketMessage.text($0).frame } + [.close(1000)])
            try connection.readClose()
            try connection.endConnection()
        }
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString, "-s"])
        #expect(try command.finish() == Outcome(exit: .code(0), output: texts.map { $0 + "\n" }.joined()))
        try check(server)
    }

    @Test("-o writes to a file") func file() throws {
        let folder = try TemporaryDirectory()
        let server = try ScriptedServer.webSocketEcho()
        #expect(
            try run(server, "-o", folder.file("a").path, input: "a\nb\n") == Outcome(exit: .code(0), output: ""))
        #expect(try String(contentsOf: folder.file("a"), encoding: .utf8) == "a\nb\n")
        try check(server)
    }

    @Test("input that is not text") func invalidText() throws {
        let server = try ScriptedServer.webSocket { try $0.readClose() }
        let outcome = try RunningCommand.run(
            ["ws", server.webSocketURL().absoluteString], input: Array("a\n".utf8) + [0xFF, 10])
        #expect(
            outcome
                == Outcome(
                    exit: .code(26), output: "",
                    errors: "urlsession: line 2 of standard input is not UTF-8: send bytes with --binary\n"))
        server.stop()
    }

    // A server that does not read must stop the reading of standard input.
    @Test("fast input waits for the server") func backPressure() throws {
        let server = try ScriptedServer.webSocket { try $0.connection.stopReading() }
        defer { server.stop() }
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString, "--binary"])
        let limit = 128 << 20
        // What the pipe, one message and the buffers of both sockets take is a few MiB.
        #expect(try command.fill(upTo: limit, quiet: .milliseconds(500)) < limit)
        command.send(SIGINT)
        #expect(try command.finish().exit == .code(130))
    }

    // MARK: The end of standard input

    // A server that answers the ping late: its messages are awaited until then.
    @Test("answers before the pong are not lost") func answersBeforeThePong() throws {
        let server = try ScriptedServer.webSocket { connection in
            try connection.demand(WebSocketFrame(WebSocketFrame.text, "ask"))
            let ping = try connection.demandPing()
            try connection.send(text: "answer")
            try connection.send(WebSocketFrame(WebSocketFrame.pong, ping))
            try connection.answerClose()
        }
        #expect(try run(server, input: "ask") == Outcome(exit: .code(0), output: "answer\n"))
        try check(server)
    }

    @Test("--wait waits for the server, which may close before") func wait() throws {
        let server = try ScriptedServer.webSocket { connection in
            try connection.demand(WebSocketFrame(WebSocketFrame.text, "ask"))
            try connection.send(text: "answer")
            // Neither ping nor close frame before this one.
            try connection.send(.close(1000))
            try connection.demand(.close(1000))
            try connection.endConnection()
        }
        #expect(try run(server, "--wait", "600", "-s", input: "ask") == Outcome(exit: .code(0), output: "answer\n"))
        try check(server)
    }

    @Test("--wait ends with silence") func waitEnds() throws {
        let server = try ScriptedServer.webSocket { connection in
            try connection.demand(WebSocketFrame(WebSocketFrame.text, "ask"))
            try connection.demand(.close(1000))
            try connection.send(.close(1000))
            try connection.endConnection()
        }
        #expect(try run(server, "--wait", "0.1", input: "ask") == Outcome(exit: .code(0), output: ""))
        try check(server)
    }

    // MARK: Opening

    // WS-1, WS-3, MISC-1
    @Test("--protocol and --header") func fields() throws {
        let server = try ScriptedServer.webSocketEcho(answer: WebSocketAnswer.firstSubprotocol)
        let outcome = try run(
            server, "--protocol", "chat", "--protocol=superchat", "-H", "X-A: 1", "-H", "Cookie: a=b", "-A", "me/1",
            input: "a")
        #expect(outcome == Outcome(exit: .code(0), output: "a\n"))
        let request = try #require(server.requests.first)
        #expect(request.subprotocols == ["chat", "superchat"])
        #expect(["X-A", "Cookie", "User-Agent"].map { request[$0] } == ["1", "a=b", "me/1"])
        #expect(request["Sec-WebSocket-Extensions"] == nil)
        try check(server)
    }

    // WS-15
    @Test("--compressed offers to compress") func compressed() throws {
        let server = try ScriptedServer.webSocketEcho()
        #expect(try run(server, "--compressed", input: "a") == Outcome(exit: .code(0), output: "a\n"))
        #expect(server.requests.first?["Sec-WebSocket-Extensions"]?.hasPrefix("permessage-deflate") == true)
        try check(server)
    }

    // WS-2
    @Test("-u answers the challenge of the opening handshake") func user() throws {
        let right = "Basic " + Data("ann:s3cret".utf8).base64EncodedString()
        let server = try ScriptedServer.webSocket(refusing: { request in
            request["Authorization"] == right
                ? nil : .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
        }) { try $0.echo() }
        #expect(try run(server, "-u", "ann:s3cret", input: "a") == Outcome(exit: .code(0), output: "a\n"))
        let refused = try run(server, "-u", "ann:wrong", input: "a")
        #expect(refused.exit == .code(22))
        #expect(
            refused.errors == "urlsession: ws://PLACE/ answered 401 Unauthorized and opened no WebSocket: "
                + "give a user with -u NAME:PASSWORD\n")
        try check(server)
    }

    @Test("--cacert, and a certificate that is not trusted") func trust() throws {
        let folder = try TemporaryDirectory()
        let authority = try TestCertificateAuthority()
        let root = try folder.write(authority.root.pem, to: "root.pem").path
        let server = try ScriptedServer.webSocketEcho(tls: TLSServerOptions(authority: authority))
        defer { server.stop() }
        #expect(
            try run(server, "--cacert", root, input: "a", host: "localhost") == Outcome(exit: .code(0), output: "a\n"))
        #expect(try run(server, input: "a", host: "localhost").exit == .code(60))
        #expect(try run(server, "-k", "-s", input: "a", host: "localhost") == Outcome(exit: .code(0), output: "a\n"))
    }

    // WS-4
    @Test("a response that opens no WebSocket") func refused() throws {
        let server = try ScriptedServer.answering(.text("nothing", status: 404))
        let outcome = try run(server, input: "a")
        #expect(
            outcome
                == Outcome(
                    exit: .code(22), output: "",
                    errors: "urlsession: ws://PLACE/ answered 404 Not Found and opened no WebSocket: "
                        + "is the path of the URL right?\n"))
        try check(server)
    }

    // WS-5
    @Test("a subprotocol that was not offered") func wrongSubprotocol() throws {
        let server = try ScriptedServer.webSocket(answer: { _ in .agreement.with { $0.subprotocol = "other" } }) {
            try $0.connection.waitForClose()
        }
        #expect(try run(server, "--protocol", "chat", input: "a").exit == .code(8))
        try check(server)
    }

    // MARK: Closing

    // WS-11, WS-16
    @Test(
        "the server's close code decides",
        arguments: [
            (.close(1000), 0, "urlsession: PLACE closed the WebSocket with 1000 (normal closure)\n"),
            (.close(1001, "bye"), 0, "urlsession: PLACE closed the WebSocket with 1001 (going away): bye\n"),
            (WebSocketFrame(WebSocketFrame.close), 0, "urlsession: PLACE closed the WebSocket with no code\n"),
            (
                .close(1008, "not\u{1B}here"), 110,
                "urlsession: PLACE closed the WebSocket with 1008 (policy violation): not^[here\n"
            ),
            (.close(4321), 110, "urlsession: PLACE closed the WebSocket with 4321\n"),
        ] as [(WebSocketFrame, Int32, String)])
    func closeCodes(_ frame: WebSocketFrame, _ code: Int32, _ errors: String) throws {
        let server = try ScriptedServer.webSocket { try $0.close(frame) }
        // Its input has no end, which must not keep it.
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString], server: server)
        #expect(try command.finish() == Outcome(exit: .code(code), output: "", errors: errors))
        try check(server)
    }

    // WS-10
    @Test("Ctrl-C closes with 1001") func interrupt() throws {
        let isOpen = Signal("the WebSocket is open")
        let server = try ScriptedServer.webSocket { connection in
            try connection.demand(WebSocketFrame(WebSocketFrame.text, "a"))
            isOpen.fire()
            try connection.demandClose(1001)
            try connection.answerClose()
        }
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString])
        try command.write("a\n".utf8)
        try isOpen.wait()
        command.send(SIGINT)
        #expect(try command.finish() == Outcome(exit: .code(130), output: ""))
        try check(server)
    }

    // WS-13
    @Test("a connection that is lost") func lost() throws {
        let server = try ScriptedServer.webSocket { $0.connection.close() }
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString], server: server)
        #expect(
            try command.finish()
                == Outcome(
                    exit: .code(56), output: "",
                    errors: "urlsession: the connection to PLACE was lost without a close frame: try again\n"))
        try check(server)
    }

    // WS-8
    @Test("--max-message") func messageTooLarge() throws {
        let server = try ScriptedServer.webSocket { connection in
            try connection.send(text: String(repeating: "a", count: 1024))
            try connection.send(text: String(repeating: "b", count: 1025))
            try connection.demandClose(1009)
            connection.connection.close()
        }
        let command = try RunningCommand(
            ["ws", server.webSocketURL().absoluteString, "--max-message", "1K"], server: server)
        #expect(
            try command.finish()
                == Outcome(
                    exit: .code(100), output: String(repeating: "a", count: 1024) + "\n",
                    errors: "urlsession: a message of PLACE is larger than 1.00 KiB: allow more with --max-message\n"))
        try check(server)
    }

    // WS-14
    @Test("a server that violates the protocol") func violation() throws {
        let server = try ScriptedServer.webSocket { connection in
            try connection.send(WebSocketFrame(3))
            try connection.demandClose(1002)
            connection.connection.close()
        }
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString], server: server)
        #expect(
            try command.finish()
                == Outcome(
                    exit: .code(8), output: "",
                    errors: "urlsession: PLACE violated the WebSocket protocol: -v shows what went before\n"))
        try check(server)
    }

    // WS-9
    @Test("--ping finds a lost server") func pings() throws {
        let server = try ScriptedServer.webSocket { connection in
            _ = try connection.demandPing()
            try connection.connection.stopReading()
        }
        defer { server.stop() }
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString, "--ping", "0.2"], server: server)
        #expect(
            try command.finish()
                == Outcome(
                    exit: .code(28), output: "",
                    errors: "urlsession: PLACE did not answer a ping: the connection is lost, or allow more time "
                        + "with --ping\n"))
    }

    @Test("output that cannot be written") func fullDevice() throws {
        let server = try ScriptedServer.webSocket { connection in
            try connection.send(text: "a")
            try connection.connection.waitForClose()
        }
        let command = try RunningCommand(["ws", server.webSocketURL().absoluteString, "-o", "/dev/full"])
        #expect(
            try command.finish()
                == Outcome(
                    exit: .code(23), output: "",
                    errors: "urlsession: cannot write /dev/full: No space left on device\n"))
        try check(server)
    }

    // MARK: Verbose

    // WS-11
    @Test("-v draws the course of the connection") func verbose() throws {
        let server = try ScriptedServer.webSocket(answer: WebSocketAnswer.firstSubprotocol) { connection in
            try connection.demand(WebSocketFrame(WebSocketFrame.text, "hello"))
            // Only after the ping, so that the order of the lines is known.
            let ping = try connection.demandPing()
            try connection.send(text: "hello")
            try connection.send(WebSocketFrame(WebSocketFrame.pong, ping))
            try connection.demandClose(1000)
            try connection.send(.close(1008, "enough"))
            try connection.endConnection()
        }
        let outcome = try run(server, "-v", "--protocol", "chat", input: "hello")
        #expect(outcome.exit == .code(110))
        let lines = outcome.errors.split(separator: "\n").map { line in
            line.replacing(#/\ +\+[0-9]+\.[0-9]{3} s/#, with: " TIME")
        }
        let start = try #require(lines.firstIndex { $0.hasPrefix("* WebSocket") })
        #expect(lines[..<start].first == "> GET / HTTP/1.1")
        #expect(lines[..<start].contains("< HTTP/1.1 101 Switching Protocols"))
        #expect(
            lines[start...].prefix { !$0.hasPrefix("* GET") } == [
                "* WebSocket open, subprotocol [redacted]", "> TIME  text, 5 bytes", "> TIME  ping",
                "< TIME  text, 5 bytes", "< TIME  pong", "> TIME  close, 1000 (normal closure)",
                "< TIME  close, 1008 (policy violation)", "<               reason: enough",
            ])
        try check(server)
    }

    // WS-3, WS-11
    @Test("--trace prints the calls") func trace() throws {
        let server = try ScriptedServer.webSocketEcho(answer: WebSocketAnswer.firstSubprotocol)
        let outcome = try run(server, "--trace", "--protocol", "chat", input: "a")
        let calls = outcome.errors.split(separator: "\n").map { $0.replacing(#/^.*\]  /#, with: "") }
            .filter { $0.contains("webSocketTask") }
        #expect(
            calls == [
                "urlSession(_:webSocketTask:didOpenWithProtocol:)  task 1, a subprotocol",
                "urlSession(_:webSocketTask:didCloseWith:reason:)  task 1, 1000",
            ])
        #expect(outcome.exit == .code(0))
        try check(server)
    }
}
