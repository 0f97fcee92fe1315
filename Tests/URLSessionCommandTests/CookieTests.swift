import Foundation
import TestSupport
import Testing
import URLLoading

@testable import URLSessionCommandCore

/// `-b`, `-c` and `--session`.
@Suite struct CookieTests {
    private func harness() throws -> CommandHarness {
        try CommandHarness(
            .answering { request in
                let known = [request["Cookie"], request["Authorization"], request["X-A"]].map { $0 ?? "-" }
                let response = CannedResponse.text(known.joined(separator: " "))
                return request.path == "/set"
                    ? response.with(field: "Set-Cookie", "kept=1; Max-Age=1000")
                        .with(field: "Set-Cookie", "short=2; HttpOnly") : response
            })
    }

    // COOK-1
    @Test func jarIsWrittenAndRead() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "-c", "jar", harness.url("/set")]).output == "- - -")
        let lines = try harness.text("jar").split(separator: "\n").filter { !$0.hasPrefix("# ") }
            .map { $0.split(separator: "\t").map(String.init) }
        #expect(
            lines.map { [$0[0], $0[1], $0[2], $0[3], $0[5], $0[6]] }.sorted { $0[4] < $1[4] } == [
                ["127.0.0.1", "FALSE", "/", "FALSE", "kept", "1"],
                ["#HttpOnly_127.0.0.1", "FALSE", "/", "FALSE", "short", "2"],
            ])
        let mode = try FileManager.default.attributesOfItem(atPath: harness.path("jar"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let both = try harness.runInFolder(["-s", "-b", "jar", harness.url()]).output
        #expect(
            both.split(separator: " ").prefix(2).map { $0.replacing(";", with: "") }.sorted() == ["kept=1", "short=2"])
        #expect(try harness.runInFolder(["-s", "-j", "-b", "jar", harness.url()]).output == "kept=1 - -")
        #expect(try harness.runInFolder(["-s", "-b", "missing", harness.url()]).output == "- - -")
    }

    // COOK-1: the field of -H and the cookies of a file are one list
    @Test func fieldBesideAFile() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "-c", "jar", harness.url("/set")]).exit == .code(0))
        let both = try harness.runInFolder(["-s", "-b", "jar", "-H", "Cookie: own=3; two=4", harness.url()]).output
        let cookies = both.split(separator: " ").dropLast(2).map { $0.replacing(";", with: "") }
        #expect(cookies.sorted() == ["kept=1", "own=3", "short=2", "two=4"])
        #expect(try harness.runInFolder(["-s", "-H", "Cookie: own=3", harness.url()]).output == "own=3 - -")
    }

    /// A server must not set cookies of another host, which the next run would send there.
    // COOK-1
    @Test("a line break of Unicode in a cookie does not end its line", arguments: ["\u{85}", "\u{2028}", "\u{2029}"])
    func lineBreaksInACookie(_ mark: String) throws {
        let harness = try CommandHarness(
            .answering { request in
                guard request.path == "/set" else { return .text(request["Cookie"] ?? "-") }
                return CannedResponse.text("set")
                    .with(field: "Set-Cookie", "a=x\(mark)Set-Cookie: b=2; Path=/")
                    .with(field: "Set-Cookie", "c=x\(mark)localhost\tFALSE\t/\tFALSE\t0\td\t4; Path=/")
            })
        defer { harness.server.stop() }
        let other = "http://localhost:\(harness.server.port)/"
        #expect(try harness.runInFolder(["-s", "-c", "jar", harness.url("/set")]).output == "set")
        #expect(try harness.runInFolder(["-s", "-b", "jar", other]).output == "-")
        let own = try harness.runInFolder(["-s", "-b", "jar", harness.url()]).output
        #expect(own.hasPrefix("a=x") && own.hasSuffix("Set-Cookie: b=2"), "\(own)")
        // As another program may have written it.
        _ = try harness.write("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tx\(mark)Set-Cookie: b=2\r\n", to: "jar")
        #expect(try harness.runInFolder(["-s", "-b", "jar", other]).output == "-")
        let read = try harness.runInFolder(["-s", "-b", "jar", harness.url()]).output
        #expect(read.hasPrefix("a=x") && read.hasSuffix("Set-Cookie: b=2"), "\(read)")
    }

    // COOK-1: the cookies of a text count in one run, and remove none from a file
    @Test(
        "the cookies of a text replace those of files and sessions",
        arguments: [["-b", "jar", "-c", "jar"], ["--session", "./jar"]],
        [["-b", "kept=9"], ["-H", "Cookie: kept=9"]])
    func textInPlaceOfAFile(_ file: [String], _ text: [String]) throws {
        let harness = try harness()
        defer { harness.server.stop() }
        func cookies(_ path: String, _ words: [String]) throws -> [String] {
            try harness.runInFolder(["-s", harness.url(path)] + words).output.split(separator: " ")
                .map { String($0.replacing(";", with: "")) }.filter { $0.contains("=") }.sorted()
        }
        #expect(try cookies("/set", file) == [])
        #expect(try cookies("/", text + file) == ["kept=9", "short=2"])
        #expect(try cookies("/", file + text) == ["kept=9", "short=2"])
        #expect(try cookies("/", file) == ["kept=1", "short=2"])
        // What the server sets replaces both.
        #expect(try cookies("/set", file + text) == ["kept=9", "short=2"])
        #expect(try cookies("/", file) == ["kept=1", "short=2"])
    }

    @Test func sessionStaysInItsFolderAndOrigin() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let port = harness.server.port
        let upwards = "http://..%2f..%2fesc.localhost:\(port)/"
        _ = try harness.runInFolder(["-s", "--session", "me", "--connect-to", "::127.0.0.1:\(port)", upwards])
        #expect(try harness.names().filter { $0.contains("esc") } == [])
        let first = ["-s", "--session", "./here.json", "--oauth2-bearer", "t"]
        #expect(try harness.runInFolder(first + [harness.url()]).output == "- Bearer t -")
        let other = try harness.runInFolder(["-s", "--session", "./here.json", "http://localhost:\(port)/"])
        #expect(other.exit == .code(2))
        #expect(other.output.contains("belongs to http_127.0.0.1_\(port), not to http_localhost_\(port)"))
    }

    /// What nothing has answered is not kept.
    @Test func sessionNeedsAResponse() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let line = ["-s", "--session", "./none.json", "--oauth2-bearer", "t", "http://127.0.0.1:1/"]
        #expect(try harness.runInFolder(line).exit == .code(7))
        #expect(try harness.names() == [])
    }

    /// A link with the name that a temporary file could have is not followed.
    @Test func privateFileIsReplacedInOneStep() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        _ = try harness.write("before", to: "victim")
        let jar = harness.path("jar")
        try FileManager.default.createSymbolicLink(
            atPath: jar + ".\(getpid()).new", withDestinationPath: harness.path("victim"))
        try PrivateFile.replace(jar, with: Data("secret".utf8))
        #expect(try harness.text("victim") == "before")
        #expect(try harness.text("jar") == "secret")
    }

    /// The message names the file of `-c`, not a temporary one.
    @Test func jarThatCannotBeWritten() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let outcome = try harness.runInFolder(["-s", "-S", "-o", "body", "-c", "missing/jar", harness.url("/set")])
        #expect(outcome.exit == .code(23))
        #expect(outcome.output == "urlsession: cannot write missing/jar: No such file or directory\n")
    }

    @Test func textIsNotWrittenIntoTheJar() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let line = ["-s", "-b", "given=3", "-c", "-", harness.url()]
        let output = try harness.runInFolder(line).output
        #expect(output.hasPrefix("given=3 - -# Netscape HTTP Cookie File\n"))
        #expect(!output.dropFirst("given=3".count).contains("given"))
    }

    @Test(arguments: ["http", "https", "HTTPS"]) func textForHTTPSIsSecure(_ scheme: String) throws {
        let url = try #require(URL(string: "\(scheme)://h.example/"))
        #expect(CookieFile.cookies(ofText: "a=1; b=2", for: url).allSatisfy { $0.isSecure == (scheme != "http") })
    }

    @Test func linesOfHeadersAreCookiesToo() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        _ = try harness.write("HTTP/1.1 200 OK\nSet-Cookie: a=1; Path=/\nX: y\n", to: "head")
        #expect(try harness.runInFolder(["-s", "-b", "head", harness.url()]).output == "a=1 - -")
        _ = try harness.write("# a comment\nnonsense\n127.0.0.1\tFALSE\t/\tFALSE\t1\told\tx\n", to: "old")
        #expect(try harness.runInFolder(["-s", "-b", "old", harness.url()]).output == "- - -")
    }

    // COOK-1
    @Test(
        "a cookie that outlives all numbers of seconds is written and read again",
        arguments: [
            "127.0.0.1\tFALSE\t/\tFALSE\t9223372036854775807\ta\t1\n",
            "Set-Cookie: a=1; Path=/; Max-Age=9223372036854775807\n",
        ])
    func endlessCookie(line: String) throws {
        let harness = try harness()
        defer { harness.server.stop() }
        _ = try harness.write(line, to: "old")
        #expect(try harness.runInFolder(["-s", "-b", "old", "-c", "jar", harness.url()]).exit == .code(0))
        #expect(try harness.text("jar").contains("\t9223372036854775807\ta\t1\n"))
        #expect(try harness.runInFolder(["-s", "-b", "jar", harness.url()]).output == "a=1 - -")
    }

    @Test func sessionKeepsCookiesFieldsAndUser() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let first = ["-s", "--session", "me", "-H", "X-A: 1", "-H", "Content-Type: x/y", "--oauth2-bearer", "t"]
        #expect(try harness.runInFolder(first + [harness.url("/set")]).output == "- Bearer t 1")
        let second = try harness.runInFolder(["-s", "--session", "me", harness.url()]).output
        #expect(second.hasSuffix(" Bearer t 1") && second.contains("kept=1") && second.contains("short=2"))
        let path = "urlsession/sessions/http_127.0.0.1_\(harness.server.port)/me.json"
        let mode = try FileManager.default.attributesOfItem(atPath: harness.path(path))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let before = try harness.text(path)
        #expect(!before.contains("Content-Type"))
        let third = ["-s", "--session-read-only", "me", "-H", "X-A: 2", harness.url()]
        #expect(try harness.runInFolder(third).output.hasSuffix(" Bearer t 2"))
        #expect(try harness.text(path) == before)
        // Another name knows nothing.
        #expect(try harness.runInFolder(["-s", "--session", "other", harness.url()]).output == "- - -")
        #expect(try harness.runInFolder(["-s", "--session", "./here.json", harness.url("/set")]).exit == .code(0))
        #expect(try harness.text("here.json").contains("kept"))
        _ = try harness.write("nonsense", to: "bad.json")
        let bad = try harness.runInFolder(["-s", "--session", "./bad.json", harness.url()])
        #expect(bad.exit == .code(26))
        #expect(bad.output == "urlsession: './bad.json' is not a session of urlsession: remove it\n")
    }
}
