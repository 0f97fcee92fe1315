import Foundation
import TestSupport
import Testing

@testable import URLSessionCommandCore

/// `-K`, and the default file.
@Suite struct ConfigurationFileTests {
    private func entries(_ text: String) throws -> [[String?]] {
        try ConfigurationText.entries(of: text, "f").map { [$0.isLetter ? "-" : "", $0.name, $0.value] }
    }

    @Test func lines() throws {
        let text = """
            # a comment
            url = "http://h/"   # another
              user-agent: agent
            --data a
            -X PUT
            -XPOST
            silent
            -s
            header = "A: \\"b\\"\\tc\\\\"
            max-time=5

            """
        #expect(
            try entries(text) == [
                ["", "url", "http://h/"], ["", "user-agent", "agent"], ["", "data", "a"], ["-", "X", "PUT"],
                ["-", "X", "POST"], ["", "silent", nil], ["-", "s", nil], ["", "header", "A: \"b\"\tc\\"],
                ["", "max-time", "5"],
            ])
    }

    /// A value may begin with a colon, as `:8080/path` does.
    @Test(arguments: [
        ("url = :80/a", ":80/a"), ("url=:80/a", ":80/a"), ("url :80/a", ":80/a"), ("--url :80/a", ":80/a"),
        ("url: :80/a", ":80/a"), ("url:a", "a"), ("url : a", "a"), ("url = a", "a"), ("url =a", "a"),
        ("url = \"a\u{2028}b\u{85}c\"\r\n", "a\u{2028}b\u{85}c"),
    ])
    func values(_ line: String, _ value: String) throws {
        #expect(try entries(line) == [["", "url", value]])
    }

    @Test(arguments: [
        ("url = \"a", "'f', line 1: the quotation marks do not match"),
        ("\nurl = a b", "'f', line 2: a value with blanks needs quotation marks"),
    ])
    func badLines(_ text: String, _ message: String) {
        #expect(throws: UsageError(message)) { try entries(text) }
    }

    @Test func switchesOfAFile() throws {
        let harness = try CommandHarness(
            .answering { .text("\($0.method) \($0.path) \($0["User-Agent"] ?? "") \($0.bodyText)") })
        defer { harness.server.stop() }
        let file = try harness.write("silent\nuser-agent = agent\n-d \"a b\"\nurl = \(harness.url("/x"))\n", to: "file")
        #expect(try harness.runInFolder(["-K", file]).output == "POST /x agent a b")
        #expect(try harness.runInFolder(["-K", file, "-A", "other"]).output == "POST /x other a b")
        let input = try RunningCommand.run(["-K", "-"], input: "silent\nurl \(harness.url("/y"))\nuser-agent me")
        #expect(input.output == "GET /y me ")
        let unknown = try harness.write("\nsilnt\n", to: "unknown")
        #expect(
            try harness.run("-K", unknown).output
                == "urlsession: 'FOLDER/unknown', line 2: unknown switch --silnt: did you mean --silent? (try 'urlsession --help')\n"
        )
        let loop = try harness.write("config = loop\n", to: "loop")
        #expect(try harness.runInFolder(["-K", "loop"]).output.hasPrefix("urlsession: -K: 'loop' reads itself"))
        #expect(try harness.runInFolder(["-K", loop + "x"]).exit == .code(26))
    }

    /// The switches of the default file that a command does not take are for the others.
    @Test func defaultFile() throws {
        let harness = try CommandHarness(.answering { .text("\($0.path) \($0["User-Agent"] ?? "")") })
        defer { harness.server.stop() }
        _ = try harness.write("silent\nuser-agent = mine\nlimit-rate = 10M\n", to: "urlsession/config")
        #expect(try harness.runInFolder([harness.url("/x")]).output == "/x mine")
        #expect(try harness.runInFolder([harness.url("/x"), "-A", "other"]).output == "/x other")
        let own = try harness.runInFolder(["-q", "-s", harness.url("/x")]).output
        #expect(own.hasPrefix("/x urlsession/"), "\(own)")
        #expect(try harness.runInFolder(["download", harness.url("/file"), "a"]).exit == .code(0))
        #expect(try harness.text("a") == "/file mine")
        #expect(try harness.runInFolder(["completion", "bash"]).exit == .code(0))
        #expect(try harness.runInFolder(["-s", "-q", harness.url("/x")]).exit == .code(2))
        // What it names is a part of it.
        let more = try harness.write("user-agent = more\nlimit-rate = 10M\n", to: "more")
        _ = try harness.write("silent\nconfig = \(more)\n", to: "urlsession/config")
        #expect(try harness.runInFolder([harness.url("/x")]).output == "/x more")
        #expect(try harness.runInFolder(["download", harness.url("/file"), "b"]).exit == .code(0))
        #expect(try harness.text("b") == "/file more")
        #expect(try harness.runInFolder(["-K", more, "download", harness.url("/file"), "c"]).exit == .code(2))
    }
}
