import Foundation
import TestSupport
import Testing

/// The program of `Tests/SessionUser` with logging enabled.
@Suite(.timeLimit(.minutes(1))) struct LoggedLoadTests {
    private static let basicAuth = BasicAuthResponder()

    private func server() throws -> ScriptedServer {
        try .answering { request in
            switch request.path {
            case "/moved": return .redirect(to: "/end?token=treasure")
            case "/who": return Self.basicAuth.answer(request)
            default:
                return CannedResponse.text("ok").with(field: "Set-Cookie", "session=treasure")
                    .with(field: "X-Plain", "visible\u{1B}[31m").with(field: "Cache-Control", "no-store")
            }
        }
    }

    /// The output of the program, separated from its log.
    private func run(
        _ level: String?, _ urls: [String], under tracer: [String] = []
    ) throws -> (log: [String], rest: [String]) {
        let lines = try SessionUser().run(
            ["ephemeral"] + urls, under: tracer, environment: ["URLSESSION_LOG": level ?? ""])
        return (lines.filter { $0.hasPrefix("URLLoading:") }, lines.filter { !$0.hasPrefix("URLLoading:") })
    }

    /// A line without varying parts.
    private func plain(_ line: String, _ server: ScriptedServer) -> String {
        line.replacing(/[0-9]+\.[0-9] ms( \([^)]*\))?/, with: "T").replacing(":\(server.port)", with: ":PORT")
            .replacing(/sent [0-9]+\+/, with: "sent N+").replacing(/received [0-9]+\+/, with: "received N+")
    }

    // MISC-28
    @Test("a line for each transaction, and each failure") func transactions() throws {
        let server = try server()
        defer { server.stop() }
        let refusing = try RefusingPort()
        let base = "http://me:treasure@127.0.0.1:\(server.port)"
        let (log, rest) = try run("1", [base + "/moved?key=treasure", "http://127.0.0.1:\(refusing.port)/", "foo:bar"])
        #expect(
            log.map { plain($0.replacing(":\(refusing.port)", with: ":REFUSING"), server) } == [
                "URLLoading: 1.1 GET http://127.0.0.1:PORT/moved?...: 302, http/1.1, "
                    + "new connection to 127.0.0.1:PORT, sent N+0 bytes, received N+0 bytes, T",
                "URLLoading: 1.1 GET http://127.0.0.1:PORT/end?...: 200, http/1.1, "
                    + "used connection to 127.0.0.1:PORT, sent N+0 bytes, received N+2 bytes, T",
                "URLLoading: 1.2 GET http://127.0.0.1:REFUSING/: failed -1004, T",
                "URLLoading: 1.2 task: failed -1004, Could not connect to the server. (NSPOSIXErrorDomain 111)",
                "URLLoading: 1.3 GET foo:bar: failed -1002, unsupported URL",
            ])
        #expect(rest.first == "200 ok" && rest.count == 3)
    }

    // MISC-28, T-39
    @Test("a task that ended before it began") func neverBegun() throws {
        let server = try server()
        defer { server.stop() }
        let (log, rest) = try run("1", ["cancelled", "http://me:treasure@127.0.0.1:\(server.port)/end?key=treasure"])
        #expect(
            log.map { plain($0, server) } == [
                "URLLoading: 1.1 GET http://127.0.0.1:PORT/end?...: failed -999, cancelled"
            ])
        #expect(rest == ["failed -999"])
        #expect(server.connectionCount == 0)
    }

    // MISC-28
    @Test("no secret is in the log, and values are at 3 alone", arguments: ["1", "2", "3"])
    func secrets(level: String) throws {
        let server = try server()
        defer { server.stop() }
        let user = "http://Mufasa:Circle%20of%20Life@127.0.0.1:\(server.port)"
        let (log, rest) = try run(level, [user + "/who", user + "/moved", user + "/end"])
        #expect(rest == ["200 GET /who ", "200 ok", "200 ok"])
        // The user is known, and the cookie has come back.
        #expect(server.requests.last?["Authorization"] == Self.basicAuth.field())
        #expect(server.requests.last?["Cookie"] == "session=treasure")
        let text = log.joined(separator: "\n")
        for secret in ["treasure", "Circle", "Mufasa", String(Self.basicAuth.field().dropFirst(6)), "\u{1B}"] {
            #expect(!text.contains(secret), "\(secret)")
        }
        #expect(text.contains("visible\\u{1B}[31m") == (level == "3"))
        #expect(text.contains("> Authorization: [redacted]") == (level != "1"))
        #expect(text.contains("< Set-Cookie: [redacted]") == (level != "1"))
        #expect(text.contains("< X-Plain: [redacted]") == (level == "2"))
        #expect(text.contains("cache: load, because: nothingStored") == (level != "1"))
        #expect(text.contains("begins: authentication") == (level != "1"))
        #expect(text.contains("begins: redirect") == (level != "1"))
    }

    // MISC-28, AUTH-28
    @Test("CONNECT requests", arguments: ["1", "2", "3"]) func tunnels(level: String) throws {
        let proxy = try ScriptedServer.answering(
            CannedResponse.status(403).with(field: "X-Plain", "visible").with(field: "Set-Cookie", "a=treasure"))
        defer { proxy.stop() }
        let lines = try SessionUser().run(
            ["ephemeral", "https://far.test/"],
            environment: [
                "URLSESSION_LOG": level, "https_proxy": "http://me:treasure@127.0.0.1:\(proxy.port)", "no_proxy": "",
            ])
        let proxyLines = lines.filter { $0.hasPrefix("URLLoading: 1.1 proxy ") }.map { $0.dropFirst(16) }
        #expect(proxyLines.contains("proxy > CONNECT far.test:443 HTTP/1.1") == (level != "1"))
        #expect(proxyLines.contains("proxy > Proxy-Authorization: [redacted]") == (level != "1"))
        #expect(proxyLines.contains("proxy < HTTP/1.1 403") == (level != "1"))
        #expect(proxyLines.contains("proxy < X-Plain: visible") == (level == "3"))
        #expect(!lines.contains { $0.contains("treasure") })
    }

    // MISC-28
    @Test("no log without the variable", arguments: [nil, "0", "no"]) func off(level: String?) throws {
        let server = try server()
        defer { server.stop() }
        let (log, rest) = try run(level, [server.url("/end").absoluteString, "foo:bar"])
        #expect(log == [])
        #expect(rest.first == "200 ok")
    }

    // MISC-28: a program is no slower for a reader that stops, and lives on without one
    @Test("a reader that does not read, and a closed one", arguments: [true, false])
    func badReaders(isThere: Bool) throws {
        let server = try server()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let pipe = directory.file("pipe").path
        let script =
            isThere
            ? "mkfifo \(pipe); exec 4<>\(pipe); exec \"$@\" 2>&4"
            : "mkfifo \(pipe); exec 4<>\(pipe); exec 5>\(pipe) 4<&-; exec \"$@\" 2>&5"
        // Far more than a pipe holds.
        let urls = [String](repeating: server.url("/end").absoluteString, count: 100)
        let (log, rest) = try run("3", urls, under: ["/bin/sh", "-c", script, "sh"])
        #expect(log == [])
        #expect(rest == [String](repeating: "200 ok", count: 100))
    }
}
