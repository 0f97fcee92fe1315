import Foundation
import TestSupport
import Testing

/// The commands of docs/command-comparison.md, each tried against a server.
@Suite struct EverydayTests {
    private static let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/command-comparison.md")

    /// The commands of the table, in order.
    private static func commands() throws -> [String] {
        try String(contentsOf: document, encoding: .utf8).split(separator: "\n").compactMap { line in
            guard line.hasPrefix("| "), let first = line.dropFirst(2).first, first.isNumber else { return nil }
            // A bar within a command is escaped.
            let cells = line.replacing("\\|", with: "\u{1}").split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces).replacing("\u{1}", with: "|")
            }
            return cells.count == 6 ? cells[2].trimmingCharacters(in: ["`"]) : nil
        }
    }

    /// What a command must do.
    private struct Expectation {
        var exit: Int32 = 0
        /// A part of the output, of standard error too.
        var output: String?
        /// A file that must be there, and a part of its text.
        var file: (name: String, text: String)?

        static func prints(_ text: String, exit: Int32 = 0) -> Expectation { Expectation(exit: exit, output: text) }
        static func writes(_ name: String, _ text: String) -> Expectation { Expectation(file: (name, text)) }
    }

    /// By the number in the table.
    private static let expectations: [Expectation] = [
        .prints("a page"), .prints("a page"), .writes("page.html", "a page"), .writes("a.txt", "text of /a.txt"),
        .writes("chosen.txt", "named"), .writes("new/a.txt", "text of /a.txt"), .writes("big.bin", "0123456789"),
        .prints("HTTP/1.1 200 OK"), .prints("\r\n\r\na page"), .writes("heads.txt", "HTTP/1.1 200 OK\r\n"),
        .prints("> GET /page HTTP/1.1"), .prints("HTTP/1.1 302 Found"), .prints("answered 404", exit: 22),
        .prints("nothing here", exit: 22), .prints("200"), .prints("response"),
        .prints("X-A: 1\n"), .prints("User-Agent: agent\n"), .prints("Referer: https://before.example/\n"),
        .prints("POST /echo\n\na=1&b=2"), .prints("a=1+%26+2"), .prints("GET /echo?q=a+b\n"), .prints("{\"a\":1}"),
        .prints("POST /echo\n\nline 1\nline 2\n"), .prints("POST /echo\n\nhello"), .prints("filename=\"file.txt\""),
        .prints("PUT /folder/file.txt\n"), .prints("PUT /echo\n\nline 1\nline 2\n"), .prints("DELETE /echo\n"),
        .prints("PURGE /echo\n"), .prints("welcome"), .prints("Authorization: Bearer t0ken\n"),
        .prints("Cookie: a=1\n"), .writes("jar.txt", "\tkept\t1\n"), .prints("set"), .prints("text of /a.txta page"),
        .writes("b.txt", "text of /b.txt"), .prints("at last"), .prints("a page"), .prints("a page"),
        .writes("big.bin", "0123456789"), .writes("a.txt", "text of /a.txt"), .prints("01234"), .prints("304"),
        .prints("a page"), .prints("a page"), .prints("a page"), .prints("a page"), .prints("a page"),
        .prints("User-Agent: from a file\n"),
    ]

    private static func server(_ tls: TLSServerOptions?) throws -> ScriptedServer {
        let isBusy = Watched(true)
        return try .answering(tls: tls) { request in
            switch request.path {
            case "/page": return .text("a page")
            case "/moved": return .redirect(to: "/page")
            case "/missing": return .text("nothing here", status: 404)
            case "/named":
                return .text("named").with(field: "Content-Disposition", "attachment; filename=\"chosen.txt\"")
            case "/set": return .text("set").with(field: "Set-Cookie", "kept=1; Max-Age=1000")
            case "/old":
                let isKnown = request["If-Modified-Since"] != nil
                return isKnown ? .status(304) : .text("old")
            case "/busy":
                let busy = isBusy.withValue { busy in
                    defer { busy = false }
                    return busy
                }
                return busy ? .text("busy", status: 503) : .text("at last")
            case "/private":
                guard request["Authorization"] == nil else { return .text("welcome") }
                return CannedResponse(401).with(field: "WWW-Authenticate", "Basic realm=\"x\"")
            case "/big.bin":
                guard request["Range"] == "bytes=0-4" else { return .text("0123456789") }
                return CannedResponse(206, body: .bytes(Array("01234".utf8)))
                    .with(field: "Content-Range", "bytes 0-4/10")
            case "/echo", "/folder/file.txt":
                let names = ["X-A", "User-Agent", "Referer", "Authorization", "Cookie"]
                let fields = names.compactMap { name in request[name].map { "\(name): \($0)\n" } }.joined()
                let isPlain = request["User-Agent"]?.hasPrefix("urlsession/") ?? true
                let shown =
                    isPlain
                    ? fields.split(separator: "\n").filter { !$0.hasPrefix("User-Agent") }
                        .map { $0 + "\n" }.joined() : fields
                return .text("\(request.method) \(request.target)\n\(shown)\n\(request.bodyText)")
            default: return .text("text of \(request.path)")
            }
        }
    }

    @Test func tableIsComplete() throws {
        #expect(try Self.commands().count == 50)
        #expect(Self.expectations.count == 50)
    }

    /// The host of the table is a server of the test, through a configuration file that is read by default.
    @Test(arguments: 1...50) func command(_ number: Int) throws {
        let commands = try Self.commands()
        try #require(commands.count == 50)
        let folder = try TemporaryDirectory()
        let authority = try TestCertificateAuthority()
        let isLocal = number == 2
        let identity = try authority.issue(.server(.dns("example.org")))
        let server = try Self.server(isLocal ? nil : TLSServerOptions(identity))
        defer { server.stop() }
        _ = try folder.write("line 1\nline 2\n", to: "file.txt")
        _ = try folder.write(authority.root.pem, to: "root.pem")
        _ = try folder.write("user-agent = \"from a file\"\n", to: "switches.txt")
        let trust = [45, 46].contains(number) ? "" : "cacert = \(folder.file("root.pem").path)\n"
        let place = "connect-to = example.org:443:127.0.0.1:\(server.port)\n"
        let isResolved = number == 49
        _ = try folder.write(trust + (isLocal || isResolved ? "" : place), to: "urlsession/config")
        let line = commands[number - 1].replacing("8080", with: "\(server.port)")
            .replacing(":443", with: isResolved ? ":\(server.port)" : ":443")
            .replacing(
                "https://example.org/",
                with: isResolved ? "https://example.org:\(server.port)/" : "https://example.org/")
        let program = try CommandHarness.executable()
        let script = "cd '\(folder.path)' && urlsession() { '\(program)' \"$@\"; } && \(line)"
        let (exit, output) = try ChildProcess.run(
            "/bin/sh", ["-c", script], environment: ["HOME": folder.path, "XDG_CONFIG_HOME": folder.path])
        let expected = Self.expectations[number - 1]
        #expect(exit == .code(expected.exit), "\(line): \(output)")
        if let text = expected.output { #expect(output.contains(text), "\(line)") }
        if let (name, text) = expected.file {
            let contents = try String(decoding: Data(contentsOf: folder.file(name)), as: UTF8.self)
            #expect(contents.contains(text), "\(line)")
        }
    }
}
