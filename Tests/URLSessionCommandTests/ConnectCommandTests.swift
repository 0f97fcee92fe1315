import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// `urlsession connect`, against servers that are written in the tests.
@Suite struct ConnectCommandTests {
    private typealias Outcome = RunningCommand.Outcome

    private let folder: TemporaryDirectory
    private let authority: TestCertificateAuthority
    private let root: String

    init() throws {
        folder = try TemporaryDirectory()
        authority = try TestCertificateAuthority()
        root = try folder.write(authority.root.pem, to: "root.pem").path
    }

    /// A server that answers, when the client has finished sending, with everything that came in capital letters.
    private func server(tls: TLSServerOptions? = nil) throws -> ScriptedServer {
        try ScriptedServer(tls: tls) { try Self.shout($0) }
    }

    private static func shout(_ connection: ServerConnection) throws {
        var text = ""
        while case let bytes = try connection.receive(), !bytes.isEmpty {
            text += String(decoding: bytes, as: UTF8.self)
        }
        try connection.send(text.uppercased())
        connection.close()
    }

    // STREAM-2, STREAM-3, STREAM-5: the end of the input closes one direction
    @Test("standard input is sent, and the answer printed") func plain() throws {
        let server = try server()
        for arguments in [["127.0.0.1", "\(server.port)"], ["127.0.0.1:\(server.port)"], ["localhost:\(server.port)"]] {
            #expect(
                try RunningCommand.run(["connect"] + arguments, input: "hello\nyou")
                    == Outcome(exit: .code(0), output: "HELLO\nYOU"))
        }
        try server.finish()
        server.stop()
    }

    @Test("-o writes to a file") func file() throws {
        let server = try server()
        let outcome = try RunningCommand.run(
            ["connect", "127.0.0.1:\(server.port)", "-o", folder.file("a").path], input: "hello")
        #expect(outcome == Outcome(exit: .code(0), output: ""))
        #expect(try String(contentsOf: folder.file("a"), encoding: .utf8) == "HELLO")
        server.stop()
    }

    @Test("the server's end is the end, although standard input has none") func serverEnds() throws {
        let server = try ScriptedServer { connection in
            try connection.send("bye\n")
            connection.close()
        }
        defer { server.stop() }
        let command = try RunningCommand(["connect", "127.0.0.1:\(server.port)"])
        #expect(try command.finish() == Outcome(exit: .code(0), output: "bye\n"))
    }

    // A server that does not read must stop the reading of standard input.
    @Test("fast input waits for the server") func backPressure() throws {
        let server = try ScriptedServer { try $0.stopReading() }
        defer { server.stop() }
        let command = try RunningCommand(["connect", "127.0.0.1:\(server.port)"])
        let limit = 128 << 20
        #expect(try command.fill(upTo: limit, quiet: .milliseconds(500)) < limit)
        command.send(SIGINT)
        #expect(try command.finish() == Outcome(exit: .code(130), output: ""))
    }

    // MARK: TLS

    // STREAM-6
    @Test("--tls, with and without trust") func tls() throws {
        let server = try server(tls: TLSServerOptions(authority: authority))
        defer { server.stop() }
        let arguments = ["connect", "localhost:\(server.port)", "--tls"]
        #expect(
            try RunningCommand.run(arguments + ["--cacert", root], input: "hello")
                == Outcome(exit: .code(0), output: "HELLO"))
        #expect(try RunningCommand.run(arguments + ["-k", "-s"], input: "a") == Outcome(exit: .code(0), output: "A"))
        let untrusted = try RunningCommand.run(arguments, input: "hello", server: server)
        #expect(untrusted.exit == .code(60))
        #expect(untrusted.errors.hasPrefix("urlsession: the certificate of PLACE is not trusted"))
    }

    @Test("--pin is checked") func pin() throws {
        let server = try server(tls: TLSServerOptions(authority: authority))
        defer { server.stop() }
        let wrong = "sha256//" + Data(repeating: 0, count: 32).base64EncodedString()
        let outcome = try RunningCommand.run(
            ["connect", "localhost:\(server.port)", "--tls", "--cacert", root, "--pin", wrong], input: "a")
        #expect(
            outcome
                == Outcome(
                    exit: .code(90), output: "",
                    errors: "urlsession: the public key of localhost matches no --pin\n"))
    }

    @Test("--tls to a server without TLS") func noTLS() throws {
        let server = try ScriptedServer { connection in
            _ = try connection.receive()
            try connection.send("220 what?\r\n")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let outcome = try RunningCommand.run(["connect", "127.0.0.1:\(server.port)", "--tls"], server: server)
        #expect(outcome.exit == .code(35))
        #expect(outcome.errors.hasPrefix("urlsession: no secure connection to PLACE"))
    }

    // STREAM-6
    @Test(
        "--starttls", arguments: StartTLSScript.all.filter { $0.refusal == nil })
    func startTLS(_ script: StartTLSScript) throws {
        let tls = try TLSServer(TLSServerOptions(authority: authority))
        let server = try ScriptedServer { connection in
            try script.play(connection)
            try connection.startTLS(tls)
            try Self.shout(connection)
        }
        let outcome = try RunningCommand.run(
            ["connect", "localhost:\(server.port)", "--starttls", script.name, "--cacert", root], input: "hello")
        #expect(outcome == Outcome(exit: .code(0), output: "HELLO"))
        try server.finish()
        server.stop()
    }

    @Test("--starttls that is refused", arguments: StartTLSScript.all.filter { $0.refusal != nil })
    func refusedStartTLS(_ script: StartTLSScript) throws {
        let server = try ScriptedServer { connection in
            try script.play(connection)
            try connection.waitForClose()
        }
        let outcome = try RunningCommand.run(
            ["connect", "localhost:\(server.port)", "--starttls", script.name], input: "hello", server: server)
        #expect(
            outcome
                == Outcome(
                    exit: .code(64), output: "",
                    errors: "urlsession: no STARTTLS: PLACE \(script.refusal ?? ""): "
                        + "is the port right, or is it TLS from the start (--tls)?\n"))
        try server.finish()
        server.stop()
    }

    @Test("-v shows the steps before TLS") func verbose() throws {
        let tls = try TLSServer(TLSServerOptions(authority: authority))
        let script = try #require(StartTLSScript.all.first)
        let server = try ScriptedServer { connection in
            try script.play(connection)
            try connection.startTLS(tls)
            try Self.shout(connection)
        }
        defer { server.stop() }
        let outcome = try RunningCommand.run(
            ["connect", "127.0.0.1:\(server.port)", "--starttls", script.name, "-k", "-s", "-v"], input: "a",
            server: server)
        #expect(outcome.output == "A")
        let lines = outcome.errors.split(separator: "\n").map(String.init)
        #expect(
            lines.filter { !$0.hasPrefix("*") } == [
                "< 220-mail", "< 220 ready", "> EHLO localhost", "< 250-mail", "< 250-STARTTLS", "< 250 HELP",
                "> STARTTLS", "< 220 go ahead",
            ])
        let events = lines.filter { $0.hasPrefix("*") && !$0.hasPrefix("*  ") }
        #expect(
            events.map { $0.replacing(#/[0-9]+/#, with: "N") } == [
                "* certificates of N.N.N.N:", "* sent N bytes, received N bytes",
            ])
    }

    // MARK: Failures

    // CONN-12
    @Test("no server, no host, and a lost connection") func failures() throws {
        let port = try RefusingPort()
        #expect(
            try RunningCommand.run(["connect", "127.0.0.1", "\(port.port)"])
                == Outcome(
                    exit: .code(7), output: "",
                    errors: "urlsession: could not connect to 127.0.0.1:\(port.port) (connection refused): "
                        + "is the server running, and is the port right?\n"))
        #expect(try RunningCommand.run(["connect", "nowhere.invalid", "25"]).exit == .code(6))
        let server = try ScriptedServer { connection in
            _ = try connection.receive(exactly: 1)
            connection.reset()
        }
        defer { server.stop() }
        let command = try RunningCommand(["connect", "127.0.0.1", "\(server.port)"], server: server)
        try command.write("a".utf8)
        #expect(
            try command.finish()
                == Outcome(
                    exit: .code(56), output: "",
                    errors: "urlsession: the connection to PLACE was lost (connection reset by peer): try again\n"))
    }

    @Test("--idle-timeout, while the connection stands") func idleTimeout() throws {
        let server = try ScriptedServer { connection in
            try connection.send("hello")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let command = try RunningCommand(
            ["connect", "127.0.0.1", "\(server.port)", "--idle-timeout", "0.5"], server: server)
        #expect(
            try command.finish()
                == Outcome(
                    exit: .code(28), output: "hello",
                    errors: "urlsession: nothing was sent to PLACE or received from it for 0.5 s: "
                        + "allow more time with --idle-timeout\n"))
    }
}
