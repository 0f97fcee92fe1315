import Foundation
import TestSupport
import Testing

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

    @Test func textIsNotWrittenIntoTheJar() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let line = ["-s", "-b", "given=3", "-c", "-", harness.url()]
        let output = try harness.runInFolder(line).output
        #expect(output.hasPrefix("given=3 - -# Netscape HTTP Cookie File\n"))
        #expect(!output.dropFirst("given=3".count).contains("given"))
    }

    @Test func linesOfHeadersAreCookiesToo() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        _ = try harness.write("HTTP/1.1 200 OK\nSet-Cookie: a=1; Path=/\nX: y\n", to: "head")
        #expect(try harness.runInFolder(["-s", "-b", "head", harness.url()]).output == "a=1 - -")
        _ = try harness.write("# a comment\nnonsense\n127.0.0.1\tFALSE\t/\tFALSE\t1\told\tx\n", to: "old")
        #expect(try harness.runInFolder(["-s", "-b", "old", harness.url()]).output == "- - -")
    }

    @Test func sessionKeepsCookiesFieldsAndUser() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let first = ["-s", "--session", "me", "-H", "X-A: 1", "-H", "Content-Type: x/y", "--oauth2-bearer", "t"]
        #expect(try harness.runInFolder(first + [harness.url("/set")]).output == "- Bearer t 1")
        let second = try harness.runInFolder(["-s", "--session", "me", harness.url()]).output
        #expect(second.hasSuffix(" Bearer t 1") && second.contains("kept=1") && second.contains("short=2"))
        let path = "urlsession/sessions/127.0.0.1_\(harness.server.port)/me.json"
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
