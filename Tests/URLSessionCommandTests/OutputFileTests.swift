import Foundation
import TestSupport
import Testing

/// Where heads and bodies go: `-D`, `-O`, `-J`, `--output-dir`, `--create-dirs`, `-R`, `--fail-with-body`, `-w`.
@Suite struct OutputFileTests {
    private func harness() throws -> CommandHarness {
        try CommandHarness(
            .answering { request in
                switch request.path {
                case "/from": .redirect(to: "/a.txt")
                case "/named":
                    .text("named").with(field: "Content-Disposition", "attachment; filename=\"../server.txt\"")
                case "/missing": .text("not here", status: 404)
                case "/old": .text("old").with(field: "Last-Modified", "Tue, 02 Jan 2024 03:04:05 GMT")
                default: .text(request.path)
                }
            })
    }

    /// With a folder, a file, and links.
    private func harnessWithNames() throws -> CommandHarness {
        let harness = try harness()
        let files = FileManager.default
        try files.createDirectory(at: harness.folder.file("folder"), withIntermediateDirectories: false)
        _ = try harness.write("kept", to: "there")
        for (link, target) in [("link", "f"), ("dangling", "new"), ("chain", "dangling")] {
            try files.createSymbolicLink(atPath: harness.path(link), withDestinationPath: target)
        }
        try files.linkItem(atPath: harness.path("there"), toPath: harness.path("hard"))
        return harness
    }

    @Test func textOfWriteOutThatCannotBeWritten() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let message = "urlsession: cannot write standard output: No space left on device\n"
        for (switches, expected) in [("", message), ("-s", ""), ("-sS", message)] {
            let line = "exec \"$0\" \(switches) -w x -o body \"$1\" > /dev/full"
            let (exit, output) = try ChildProcess.run(
                "/bin/sh",
                ["-c", "cd \"$2\"; " + line, CommandHarness.executable(), harness.url(), harness.folder.path])
            #expect(exit == .code(23))
            #expect(output == expected)
        }
    }

    /// The next file must not get the number of a descriptor that is closed.
    @Test(
        "closed standard streams",
        arguments: [
            ("-v -o body", "2>&-", 0, "/x"), ("-v --har - -o body", "2>&-", 0, "/x"),
            ("-o body", "<&- >&- 2>&-", 0, "/x"),
            ("-s", ">&-", 23, nil), ("-s -o body --data-binary @-", "<&-", 26, nil),
        ] as [(String, String, Int32, String?)])
    func closedStreams(_ switches: String, _ closing: String, _ code: Int32, _ body: String?) throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let line = "cd \"$2\"; exec \"$0\" \(switches) \"$1\" \(closing)"
        let (exit, _) = try ChildProcess.run(
            "/bin/sh", ["-c", line, CommandHarness.executable(), harness.url("/x"), harness.folder.path])
        #expect(exit == .code(code))
        #expect((try? harness.text("body")) == body)
    }

    @Test func closedStreamsAreNamed() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        func output(_ words: String) throws -> String {
            try ChildProcess.run(
                "/bin/sh", ["-c", "exec \"$0\" \"$1\" \(words)", CommandHarness.executable(), harness.url()]
            )
            .output
        }
        #expect(try output(">&-") == "urlsession: cannot write standard output: Bad file descriptor\n")
        #expect(
            try output("--data-binary @- <&-").hasPrefix("urlsession: cannot read the body (bad file descriptor): "))
    }

    @Test func headsGoToAFile() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "-D", "heads", harness.url("/from")]).output == "/a.txt")
        let heads = try String(decoding: Data(contentsOf: harness.folder.file("heads")), as: UTF8.self)
        #expect(heads.hasPrefix("HTTP/1.1 302 Found\r\n"))
        #expect(heads.contains("\r\nLocation: /a.txt\r\n"))
        #expect(heads.contains("\r\n\r\nHTTP/1.1 200 OK\r\n"))
        #expect(heads.hasSuffix("\r\n\r\n"))
        let printed = try harness.runInFolder(["-s", "-f", "-D", "-", harness.url("/missing")])
        #expect(printed.exit == .code(22))
        #expect(printed.output.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(!printed.output.contains("not here"))
    }

    /// They contain cookies.
    @Test func headsAreForTheirOwner() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        func mode(_ name: String) throws -> Int? {
            let path = harness.folder.file(name).path
            return try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try harness.runInFolder(["-s", "-D", "heads", harness.url("/from")]).exit == .code(0))
        #expect(try mode("heads") == 0o600)
        // The user has made it so.
        #expect(chmod(harness.folder.file("heads").path, 0o644) == 0)
        #expect(try harness.runInFolder(["-s", "-D", "heads", harness.url("/from")]).exit == .code(0))
        #expect(try mode("heads") == 0o644)
    }

    /// Neither output may overwrite the other, whatever the file is called.
    @Test(arguments: [
        ("./f", "f"), ("f", "folder/../f"), ("link", "f"), ("dangling", "new"), ("hard", "there"), ("FOLDER/f", "f"),
        ("chain", "./new"), ("missing/f", "missing/./f"),
    ])
    func oneFileByTwoNames(_ first: String, _ second: String) throws {
        let harness = try harnessWithNames()
        defer { harness.server.stop() }
        let before = try harness.names()
        let name = first.replacing("FOLDER", with: harness.folder.path)
        let refusal = "urlsession: two outputs for one file: '\(name)' and '\(second)' (try 'urlsession --help')\n"
        let url = harness.url("/a")
        for words in [
            ["-s", "-D", name, "-o", second, url], ["-s", "--har", name, "-o", second, url],
            ["download", "-s", url, second, "--har", name],
        ] {
            let outcome = try harness.runInFolder(words)
            #expect(outcome.exit == .code(2) && outcome.output == refusal, "\(words)")
        }
        #expect(try harness.names() == before)
        #expect(try harness.text("there") == "kept")
        #expect(harness.server.connectionCount == 0)
        // One after the other, loads may replace a file.
        #expect(try harness.runInFolder(["-s", "-o", "./f", "-o", "f", url, url]).exit == .code(0))
    }

    /// Files with different names, or with one name in different folders.
    @Test(arguments: [("folder/f", "f"), ("there", "f"), ("link", "there"), ("/dev/null", "/dev/../dev/null")])
    func differentFiles(_ heads: String, _ body: String) throws {
        let harness = try harnessWithNames()
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "-D", heads, "-o", body, harness.url("/a")]).exit == .code(0))
    }

    @Test func namesOfFiles() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "-O", harness.url("/b.txt?c")]).exit == .code(0))
        #expect(try harness.text("b.txt") == "/b.txt")
        #expect(try harness.runInFolder(["-sOJ", harness.url("/named")]).exit == .code(0))
        #expect(try harness.text("___server.txt") == "named")
        let again = try harness.runInFolder(["-OJ", harness.url("/named")])
        #expect(again.exit == .code(23))
        #expect(again.output.hasSuffix("File exists\n"))
        // Without a name from the server it is that of the URL.
        #expect(try harness.runInFolder(["-sOJ", harness.url("/c.txt")]).exit == .code(0))
        #expect(try harness.text("c.txt") == "/c.txt")
    }

    @Test func foldersAreCreated() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let line = ["-s", "-o", "x/y/z.txt", harness.url("/d")]
        #expect(try harness.runInFolder(line).exit == .code(23))
        #expect(try harness.runInFolder(["--create-dirs"] + line).exit == .code(0))
        #expect(try harness.text("x/y/z.txt") == "/d")
        #expect(
            try harness.runInFolder(["-s", "--create-dirs", "--output-dir", "w/v", "-O", harness.url("/e")]).exit
                == .code(0))
        #expect(try harness.text("w/v/e") == "/e")
    }

    @Test func timeOfTheServer() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        #expect(try harness.runInFolder(["-s", "-R", "-O", harness.url("/old")]).exit == .code(0))
        let date = try FileManager.default.attributesOfItem(atPath: harness.path("old"))[.modificationDate] as? Date
        #expect(date == Date(timeIntervalSince1970: 1_704_164_645))
    }

    @Test func bodyOfAFailure() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let (exit, output) = try harness.run("--fail-with-body", harness.url("/missing"))
        #expect(exit == .code(22))
        #expect(output == "not hereurlsession: SERVER/missing answered 404 Not Found\n")
        #expect(try harness.run("-sf", harness.url("/missing")).output == "")
    }

    @Test func writeOut() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let failed = "%{stderr}%{http_code}%{onerror} failed: %{exitcode} %{errormsg}"
        #expect(try harness.runInFolder(["-s", "-w", failed, harness.url("/x")]).output.contains("200"))
        #expect(!(try harness.runInFolder(["-s", "-w", failed, harness.url("/x")]).output.contains("failed")))
        let output = try harness.runInFolder(["-sf", "-w", failed, harness.url("/missing")]).output
        #expect(output.hasPrefix("404 failed: 22 http://127.0.0.1:"))
        _ = try harness.write("%{http_code}", to: "format")
        #expect(try harness.runInFolder(["-s", "-o", "b", "-w", "@format", harness.url()]).output == "200")
        let json = try harness.runInFolder(["-s", "-o", "b", "-w", "%{json}", harness.url()]).output
        let values = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(values["http_code"] as? Int == 200)
        #expect(values["filename_effective"] as? String == "b")
        let times = ["time_connect", "time_pretransfer", "time_starttransfer", "time_total"].compactMap {
            values[$0] as? Double
        }
        #expect(times.count == 4 && times == times.sorted() && times[0] > 0)
    }
}
