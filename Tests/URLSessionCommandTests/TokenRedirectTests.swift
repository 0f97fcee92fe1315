import Foundation
import TestSupport
import Testing

/// Which `Authorization` the program sends again after a redirect.
@Suite struct TokenRedirectTests {
    static let tokens = [["--oauth2-bearer", "t"], ["-H", "Authorization: Bearer t"]]

    /// A cleartext and a TLS server on one host. Each redirects `/to/NAME` to `/end` of a server, and answers `/end`
    /// with the `Authorization` of the request.
    private struct Pair {
        let clear: ScriptedServer
        let secure: ScriptedServer

        init() throws {
            let targets = Watched<[String: String]>([:])
            let answer: @Sendable (ReceivedRequest) -> CannedResponse = { request in
                guard let target = targets.current[request.path] else { return .text(request["Authorization"] ?? "-") }
                return .redirect(to: target, status: 307)
            }
            clear = try ScriptedServer.answering { answer($0) }
            secure = try ScriptedServer.answering(tls: TLSServerOptions(TestIdentity.selfSigned(.localhost))) {
                answer($0)
            }
            targets.withValue { [clear, secure] in
                $0["/to/http"] = clear.url("/end", host: "localhost").absoluteString
                $0["/to/https"] = secure.url("/end", host: "localhost").absoluteString
                $0["/to/path"] = "/end"
                // There, and back again.
                $0["/to/both"] = secure.url("/to/http", host: "localhost").absoluteString
            }
        }

        func stop() {
            clear.stop()
            secure.stop()
        }
    }

    // R-9, R-10: another scheme is another origin, although the host is the same
    @Test(arguments: tokens, [[], ["-d", "x"], ["--http1.1"]])
    func betweenHTTPAndHTTPS(_ token: [String], options: [String]) throws {
        let pair = try Pair()
        defer { pair.stop() }
        let cases: [(ScriptedServer, String, String)] = [
            (pair.secure, "/to/http", "-"), (pair.clear, "/to/https", "-"), (pair.secure, "/to/https", "Bearer t"),
            (pair.clear, "/to/http", "Bearer t"), (pair.secure, "/to/path", "Bearer t"),
            (pair.clear, "/to/both", "Bearer t"),
        ]
        for (server, path, sent) in cases {
            let url = server.url(path, host: "localhost").absoluteString
            let outcome = try RunningCommand.run(["-s", "-k"] + token + options + [url])
            #expect(outcome.output == sent, "\(url)")
            #expect(server.requests.last { $0.path == path }?["Authorization"] == "Bearer t")
        }
        // On the way there and back again.
        #expect(pair.secure.requests.filter { $0.path == "/to/http" }.map { $0["Authorization"] } == ["Bearer t", nil])
    }

    // R-9, R-10: for all of its commands
    @Test(arguments: tokens) func downloadsAndUploads(_ token: [String]) throws {
        let pair = try Pair()
        defer { pair.stop() }
        let folder = try TemporaryDirectory()
        let body = try folder.write("x", to: "body").path
        let (http, https) = ("/to/http", "/to/https")
        for (server, path, sent) in [
            (pair.secure, http, "-"), (pair.clear, https, "-"), (pair.clear, http, "Bearer t"),
        ] {
            let url = server.url(path, host: "localhost").absoluteString
            let target = folder.file("download")
            try? FileManager.default.removeItem(at: target)
            _ = try RunningCommand.run(["download", "-s", "-k", url, target.path] + token)
            #expect(try String(contentsOf: target, encoding: .utf8) == sent, "\(url)")
            #expect(try RunningCommand.run(["-s", "-k", "-T", body, url] + token).output == sent, "\(url)")
        }
    }

    // R-9, R-10, R-25: an opening handshake is a request as any other
    @Test(arguments: tokens) func webSockets(_ token: [String]) throws {
        let targets = Watched<[String: String]>([:])
        let sent = EventRecorder<String>()
        let refusing: @Sendable (ReceivedRequest) -> CannedResponse? = { request in
            sent.record("\(request.path) \(request["Authorization"] ?? "-")")
            return targets.current[request.path].map { .redirect(to: $0) }
        }
        let closing: @Sendable (WebSocketConnection) throws -> Void = { try $0.close() }
        let clear = try ScriptedServer.webSocket(refusing: refusing, script: closing)
        defer { clear.stop() }
        let secure = try ScriptedServer.webSocket(
            tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)), refusing: refusing, script: closing)
        defer { secure.stop() }
        let otherServer = try ScriptedServer.webSocket(refusing: refusing, script: closing)
        defer { otherServer.stop() }
        let (ws, wss) = ("ws://localhost:\(clear.port)", "wss://localhost:\(secure.port)")
        targets.withValue {
            $0 = [
                "/to/ws": ws + "/end", "/to/wss": wss + "/end", "/to/path": "/end",
                "/to/http": "http://localhost:\(clear.port)/end", "/to/https": "https://localhost:\(secure.port)/end",
                "/to/other": "ws://localhost:\(otherServer.port)/end",
            ]
        }
        let cases = [
            (wss, "/to/ws", "-"), (ws, "/to/wss", "-"), (wss, "/to/http", "-"), (ws, "/to/https", "-"),
            (ws, "/to/other", "-"), (ws, "/to/ws", "Bearer t"), (wss, "/to/wss", "Bearer t"),
            (wss, "/to/path", "Bearer t"),
        ]
        for (server, path, last) in cases {
            let count = sent.events.count
            let outcome = try RunningCommand.run(["ws", "-s", "-k", server + path] + token)
            #expect(outcome.exit == .code(0), "\(server)\(path) \(outcome.errors)")
            #expect(sent.events.dropFirst(count) == ["\(path) Bearer t", "/end \(last)"], "\(server)\(path)")
        }
    }
}
