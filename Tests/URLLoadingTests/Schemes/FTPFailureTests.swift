import Foundation
import TestSupport
import Testing
import URLLoading

/// Failures of `ftp:` loads, and faulty servers.
@Suite(.leavesNothing) struct FTPFailureTests {
    private static let content = [UInt8].pattern(count: 200_000)

    private func server(_ scriptedReply: @escaping @Sendable (FTPServer.Command) -> FTPServer.Reply? = { _ in nil })
        throws
        -> FTPServer
    {
        var options = FTPServer.Options()
        options.files = ["/d/f": Self.content]
        options.scriptedReply = scriptedReply
        return try FTPServer(options)
    }

    private func calls(_ url: URL, timeout: Double = 60) async throws -> [Call] {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.timeoutIntervalForRequest = timeout }
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        #expect(calls.completionCount == 1)
        return calls
    }

    private func code(_ url: URL, timeout: Double = 60, _ change: (inout URLRequest) -> Void = { _ in }) async
        -> URLError.Code?
    {
        var request = URLRequest(url: url)
        change(&request)
        let session = URLSession {
            $0.timeoutIntervalForRequest = timeout
        }
        defer { session.finishTasksAndInvalidate() }
        return await #expect(throws: URLError.self) { try await session.data(for: request) }?.code
    }

    // MISC-17, ERR-8
    @Test(
        "refusals",
        arguments: [
            ("RETR", "550 Failed to open file.", .fileDoesNotExist),
            ("RETR", "550 Permission denied", .noPermissionsToReadFile),
            ("RETR", "450 busy", .resourceUnavailable), ("RETR", "425 no data connection", .cannotConnectToHost),
            ("RETR", "451 disk", .badServerResponse), ("RETR", "530 who are you?", .userAuthenticationRequired),
            ("CWD", "550 no such folder", .fileDoesNotExist), ("TYPE", "504 no", .badServerResponse),
            ("", "500 no", .badServerResponse), ("USER", "500 what?", .badServerResponse),
            ("EPSV", "229 ok", .cannotParseResponse), ("EPSV", "229 ok (|||0|)", .cannotParseResponse),
            ("", "SSH-2.0-x", .cannotParseResponse), ("USER", "hello", .cannotParseResponse),
            ("RETR", "350 more?", .cannotParseResponse),
        ] as [(String, String, URLError.Code)])
    func refusals(verb: String, reply: String, expected: URLError.Code) async throws {
        let server = try server { $0.verb == verb ? .line(reply) : nil }
        defer { server.stop() }
        // Whether it is a directory is asked too.
        #expect(
            try await calls(server.url("/d/f")) == [.created(1), .metrics(1), .completed(1, expected), .invalid])
    }

    private static let verbs = ["", "USER", "PASS", "TYPE", "CWD", "SIZE", "EPSV", "RETR"]

    // ERR-5, ERR-6: at every step
    @Test("reset, close and 421", arguments: verbs, ["reset", "close", "421"])
    func resetCloseAnd421(verb: String, way: String) async throws {
        let server = try server { command in
            guard command.verb == verb else { return nil }
            return switch way {
            case "reset": .reset
            case "close": .close
            default: .line("421 Too many users")
            }
        }
        defer { server.stop() }
        #expect(
            try await calls(server.url("/d/f")) == [
                .created(1), .metrics(1), .completed(1, .networkConnectionLost), .invalid,
            ])
    }

    // C-6, ERR-5: at every step
    @Test("silence", arguments: verbs) func silence(verb: String) async throws {
        let server = try server { $0.verb == verb ? .noReply : nil }
        defer { server.stop() }
        #expect(await code(server.url("/d/f"), timeout: 0.3) == .timedOut)
    }

    // C-8: a server that is never silent
    @Test("a server that talks and talks", arguments: ["", "USER", "SIZE", "RETR"])
    func aServerThatTalksAndTalks(verb: String) async throws {
        for line in ["220-more", "150 more", "x"] {
            let server = try server { $0.verb == verb ? .endlessLines(line) : nil }
            #expect(await code(server.url("/d/f")) == .cannotParseResponse)
            server.stop()
        }
    }

    // C-8: also while the data connection is open and says nothing
    @Test("a server that talks and talks during a transfer", arguments: ["421 bye", "150 more", "226 done", "426 cut"])
    func aServerThatTalksAndTalksDuringATransfer(line: String) async throws {
        let server = try server { $0.verb == "RETR" ? .endlessLinesAfter(1000, line) : nil }
        defer { server.stop() }
        #expect(await code(server.url("/d/f")) == .cannotParseResponse)
    }

    // MISC-17: a line without an end
    @Test("a line without an end") func aLineWithoutAnEnd() async throws {
        let line = "220 " + String(repeating: "x", count: 100_000)
        let server = try server { $0.verb.isEmpty ? .line(line) : nil }
        defer { server.stop() }
        #expect(await code(server.url("/d/f")) == .cannotParseResponse)
    }

    // ERR-6, T-38: what came is delivered, and then the end
    @Test(
        "transfers that are cut",
        arguments: [
            FTPServer.Reply.cut(1000, "426 Aborted"), .cut(1000, "451 Disk"), .cut(1000, "226 Done"),
            .cut(0, "426 Aborted"),
            .cut(1000, "421 Bye"), .resetData(0),
        ])
    func transfersThatAreCut(scriptedReply: FTPServer.Reply) async throws {
        let server = try server { $0.verb == "RETR" ? scriptedReply : nil }
        defer { server.stop() }
        let delegate = CountingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url("/d/f")).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.error.current == .networkConnectionLost)
        #expect(delegate.received.current <= 1000)
    }

    // C-6: neither bytes nor a word
    @Test("a transfer that makes no progress", arguments: [0, 1000]) func aTransferWithoutProgress(count: Int)
        async throws
    {
        let server = try server { $0.verb == "RETR" ? .stall(count) : nil }
        defer { server.stop() }
        #expect(await code(server.url("/d/f"), timeout: 0.3) == .timedOut)
    }

    // ERR-5: a data connection that never comes
    @Test("no data connection") func noDataConnection() async throws {
        let refusing = try RefusingPort()
        let port = refusing.port
        let server = try server { $0.verb == "EPSV" ? .line("229 ok (|||\(port)|)") : nil }
        defer { server.stop() }
        #expect(await code(server.url("/d/f")) == .cannotConnectToHost)
        let full = try SaturatedPort()
        let fullPort = full.port
        let silent = try self.server { $0.verb == "EPSV" ? .line("229 ok (|||\(fullPort)|)") : nil }
        defer { silent.stop() }
        #expect(await code(silent.url("/d/f"), timeout: 0.3) == .timedOut)
    }

    // ERR-5
    @Test("no server") func noServer() async throws {
        let refusing = try RefusingPort()
        #expect(await code(try #require(URL(string: "ftp://127.0.0.1:\(refusing.port)/x"))) == .cannotConnectToHost)
        #expect(await code(try #require(URL(string: "ftp://nobody.invalid/x"))) == .cannotFindHost)
    }

    // MISC-17, ERR-5: what is not even asked for
    @Test("bad URLs", arguments: ["/a%0D%0ADELE%20b", "/a%0Ab/c", "/a%00b"])
    func badURLs(path: String) async throws {
        let server = try server()
        defer { server.stop() }
        #expect(await code(server.url(path)) == .badURL)
        #expect(await code(server.url("/x", user: "a%0D%0Ab:c")) == .badURL)
        #expect(server.connectionCount == 0)
    }

    // MISC-17, C-31
    @Test("unsupported features") func unsupportedFeatures() async throws {
        let server = try server()
        defer { server.stop() }
        let url = server.url("/d/f")
        for method in ["PUT", "POST", "HEAD", "DELETE"] {
            #expect(await code(url) { $0.httpMethod = method } == .unsupportedURL)
        }
        #expect(
            await code(url) {
                $0.httpMethod = "PUT"; $0.httpBody = Data("x".utf8)
            } == .unsupportedURL)
        let session = URLSession { _ in }
        defer { session.finishTasksAndInvalidate() }
        let upload = await #expect(throws: URLError.self) {
            try await session.upload(for: URLRequest(url: url), from: Data("x".utf8))
        }
        #expect(upload?.code == .unsupportedURL)
        let modern = URLSession { $0.usesClassicLoadingMode = false }
        defer { modern.finishTasksAndInvalidate() }
        let refused = await #expect(throws: URLError.self) { try await modern.data(from: url) }
        #expect(refused?.code == .unsupportedURL)
        #expect(server.connectionCount == 0)
    }

    //
    @Test("a redirect to FTP") func aRedirectToFTP() async throws {
        let server = try server()
        defer { server.stop() }
        let target = server.url("/d/f").absoluteString
        let web = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n"),
            .waitForClose,
        ])
        defer { web.stop() }
        #expect(await code(web.url("/")) == .unsupportedURL)
        #expect(server.connectionCount == 0)
    }

    // T-5, T-38: in every state, one end and nothing left behind
    @Test("cancelling", arguments: verbs) func cancelling(verb: String) async throws {
        let server = try server { $0.verb == verb ? .noReply : nil }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url("/d/f"))
        task.resume()
        if !verb.isEmpty { try await server.command(verb) }
        task.cancel()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
    }

    // T-5
    @Test("cancelling a transfer") func cancellingATransfer() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = CountingDelegate()
        delegate.during = { $1.cancel() }
        let session = URLSession(delegate)
        session.dataTask(with: server.url("/d/f")).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.error.current == .cancelled)
    }
}
