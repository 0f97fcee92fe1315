import Foundation
import TestSupport
import Testing

@testable import URLSessionCommandCore

/// Limits of time, size and rate, and conditions.
@Suite struct LimitTests {
    @Test func largestBody() throws {
        let harness = try CommandHarness(
            .answering { $0.path == "/known" ? .text("12345") : .chunked(["123", "45"]) })
        defer { harness.server.stop() }
        let known = try harness.run("--max-filesize", "4", harness.url("/known"), "-o", harness.path("a"))
        #expect(known.exit == .code(63))
        #expect(known.output == "urlsession: the body of SERVER/known has 5 B, more than --max-filesize allows\n")
        #expect(try harness.names() == [])
        let unknown = try harness.run("--max-filesize", "4", harness.url("/unknown"), "-o", harness.path("a"))
        #expect(unknown.exit == .code(63))
        #expect(unknown.output == "urlsession: the body of SERVER/unknown is larger than 4 B (--max-filesize)\n")
        for path in ["/known", "/unknown"] {
            #expect(try harness.runInFolder(["-s", "--max-filesize", "5", harness.url(path)]).output == "12345")
        }
    }

    /// The time is that of the bytes at the rate, and a silent client is no reason to give up.
    @Test(arguments: [true, false]) func rate(isUpload: Bool) throws {
        let size = 300_000
        let harness = try CommandHarness(
            .answering { request in
                isUpload ? .text("\(request.body.count)") : .bytes([UInt8](repeating: 65, count: size))
            })
        defer { harness.server.stop() }
        let file = try harness.write(String(repeating: "a", count: size), to: "file")
        let limit = ["-s", "--limit-rate", "200000", "--idle-timeout", "1", "-o", "out"]
        let body = isUpload ? ["--data-binary", "@" + file] : []
        let start = ContinuousClock.now
        let outcome = try harness.runInFolder(limit + body + [harness.url()])
        #expect(outcome.exit == .code(0), "\(outcome.output)")
        // The last piece is waited for only before the next one.
        #expect(ContinuousClock.now - start > .milliseconds(1000))
        #expect(try harness.text("out").count == (isUpload ? 6 : size))
    }

    /// Callbacks that wait for the rate hold back that of the time limit.
    @Test func rateKeepsTheTimeLimit() throws {
        let harness = try CommandHarness(.answering { _ in .bytes([UInt8](repeating: 65, count: 300_000)) })
        defer { harness.server.stop() }
        let line = ["-s", "--limit-rate", "10K", "-m", "1", "-o", "out", harness.url()]
        let start = ContinuousClock.now
        #expect(try harness.runInFolder(line).exit == .code(28))
        // At the rate it takes half a minute.
        #expect(ContinuousClock.now - start < .seconds(15))
        #expect(try harness.text("out").count < 100_000)
    }

    @Test func rateLimiterWaits() {
        let limiter = RateLimiter(bytesPerSecond: 1000)
        let start = ContinuousClock.now
        limiter.wait(for: 50)
        limiter.wait(for: 50)
        #expect(ContinuousClock.now - start >= .milliseconds(99))
        limiter.end()
        limiter.wait(for: 1_000_000)
    }

    /// A server that takes connections and does not answer the handshake.
    @Test func connectTimeout() throws {
        let server = try ScriptedServer { connection in _ = try connection.waitForClose() }
        defer { server.stop() }
        let line = ["--connect-timeout", "0.2", "https://127.0.0.1:\(server.port)/"]
        let outcome = try RunningCommand.run(line, server: server)
        #expect(outcome.exit == .code(28))
        #expect(
            outcome.errors
                == "urlsession: no connection to PLACE within 0.2 s: allow more time with --connect-timeout\n")
    }

    /// The limit ends when the request is sent.
    @Test func connectTimeoutIsNotAboutTheResponse() throws {
        let harness = try CommandHarness(
            ScriptedServer { connection in
                let request = try connection.readRequest()
                _ = poll(nil, 0, 500)
                try connection.send(.text("late"), to: request)
            })
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "--connect-timeout", "0.25", harness.url()]).output == "late")
    }

    /// FTP has no head of a request. The session may be one that a load without a connection has made.
    @Test(arguments: [[], ["data:,a"]]) func connectTimeoutIsNotAboutAnFTPTransfer(_ before: [String]) throws {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("whole".utf8)]
        options.scriptedReply = { $0.verb == "RETR" ? .stall(4) : nil }
        let server = try FTPServer(options)
        defer { server.stop() }
        let limits = ["--connect-timeout", "0.5", "-m", "1.5"]
        let outcome = try RunningCommand.run(limits + before + [server.url("/a.txt").absoluteString])
        #expect(outcome.exit == .code(28))
        #expect(outcome.output == (before.isEmpty ? "" : "a") + "whol")
        #expect(outcome.errors.hasSuffix("allow more time with -m\n"))
    }

    @Test(arguments: [
        ("file:///a", false), ("FILE:///a", false), ("data:,a", false), ("http://a/", true), ("ftp://a/", true),
    ])
    func connectTimeoutNeedsAConnection(_ url: String, _ hasLimit: Bool) {
        #expect(CommandLoad.connects(to: URL(string: url)) == hasLimit)
    }

    @Test func ranges() throws {
        let harness = try CommandHarness(.answering { .text("\($0["Range"] ?? "-") \($0["Accept-Encoding"] ?? "-")") })
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "-r", "0-4", harness.url()]).output == "bytes=0-4 identity")
        let file = try harness.runInFolder(["-r", "0-4", "file:///etc/hostname"])
        #expect(file.exit == .code(4))
        #expect(file.output == "urlsession: -r and -z are about HTTP, not about file\n")
    }

    /// A server may ignore the condition.
    @Test func conditions() throws {
        let harness = try CommandHarness(
            .answering {
                .text("body").with(field: "Last-Modified", "Tue, 02 Jan 2024 03:04:05 GMT")
                    .with(field: "X-Condition", $0["If-Modified-Since"] ?? $0["If-Unmodified-Since"] ?? "-")
            })
        defer { harness.server.stop() }
        let url = harness.url()
        let lines = ["2024-01-01", "2024-01-03", "-2024-01-01", "-2024-01-03"]
        #expect(try lines.map { try harness.runInFolder(["-s", "-z", $0, url]).output } == ["body", "", "", "body"])
        let file = try harness.write("", to: "file")
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 5)], ofItemAtPath: file)
        #expect(
            try harness.runInFolder(["-s", "-z", "file", "-w", "%header{x-condition}", url]).output
                == "bodyThu, 01 Jan 1970 00:00:05 GMT")
        #expect(try harness.runInFolder(["-z", "nothing", url]).exit == .code(2))
    }

    /// The file has what the server would send again.
    @Test(arguments: [["-z", "file"], ["-H", "If-None-Match: \"1\""]])
    func unchangedFileIsKept(_ condition: [String]) throws {
        let harness = try CommandHarness(
            .answering { request in
                if request.path == "/from" { return .redirect(to: "/") }
                let isConditional = request["If-Modified-Since"] != nil || request["If-None-Match"] != nil
                return isConditional
                    ? .status(304).with(field: "Content-Type", "application/octet-stream") : .text("new")
            })
        defer { harness.server.stop() }
        _ = try harness.write("kept", to: "file")
        let url = harness.url("/from")
        let line = ["-s", "-D", "heads", "-w", "%{http_code}"] + condition + [url]
        for words in [["-o", "file"], ["-i", "-o", "file"], ["-f", "-R", "-o", "file"]] {
            let outcome = try harness.runInFolder(words + line)
            #expect(outcome.exit == .code(0) && outcome.output == "304", "\(words)")
            #expect(try harness.text("file") == "kept", "\(words)")
            #expect(try harness.text("heads").contains("HTTP/1.1 304"), "\(words)")
        }
        let printed = try harness.runInFolder(["-i"] + line)
        #expect(printed.exit == .code(0) && printed.output.hasPrefix("HTTP/1.1 302"))
        #expect(printed.output.contains("HTTP/1.1 304") && printed.output.hasSuffix("304"))
        // Without a condition the same server sends the file, and so it is replaced.
        #expect(try harness.runInFolder(["-s", "-i", "-o", "file", url]).exit == .code(0))
        let replaced = try harness.text("file")
        #expect(replaced.hasPrefix("HTTP/1.1 302") && replaced.hasSuffix("\r\n\r\nnew"))
    }

    @Test(
        arguments: [
            ("Tue, 02 Jan 2024 03:04:05 GMT", 1_704_164_645), ("2024-01-02", 1_704_153_600),
            ("20240102", 1_704_153_600),
            ("2 Jan 2024", 1_704_153_600), ("2024-01-02 03:04:05", 1_704_164_645),
            ("2024-01-02T03:04:05Z", 1_704_164_645),
            ("29 Feb 2000 00:00", 951_782_400), ("1970-01-01", 0), ("2024-13-01", nil), ("yesterday", nil), ("", nil),
            ("2024-01-02 25:00", nil), ("2024-02-29", 1_709_164_800), ("2023-02-29", nil), ("1900-02-29", nil),
            ("31 Apr 2024", nil), ("20240230", nil), ("99999999999", nil),
        ] as [(String, Int64?)]) func dates(_ text: String, _ time: Int64?)
    {
        #expect(TimeCondition.date(text) == time)
    }
}
