import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// Files that are not regular, or whose reported size is wrong.
@Suite struct PipeTests {
    private static let text = String(repeating: "0123456789abcdef", count: 10_000)

    private func harness() throws -> CommandHarness {
        try CommandHarness(.answering { .text("\($0.method) \($0["Content-Length"] ?? "chunked") \($0.body.count)") })
    }

    /// Writes to a pipe that is there from then on.
    private func withPipe<Result>(
        _ harness: CommandHarness, _ contents: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        try await withPipe(harness, Data(contents.utf8), body)
    }

    private func withPipe<Result>(
        _ harness: CommandHarness, _ contents: Data, _ body: (String) async throws -> Result
    ) async throws -> Result {
        let pipe = harness.folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        async let written: Void = contents.write(to: pipe)
        let result = try await body(pipe.path)
        try await written
        return result
    }

    // T-15, T-53: a pipe goes out as it is read
    @Test("upload of a pipe") func upload() async throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let url = harness.server.url("/").absoluteString
        let (exit, output) = try await withPipe(harness, Self.text) { try harness.run("upload", $0, url, "-s") }
        #expect(exit == .code(0))
        #expect(output == "PUT chunked 160000")
    }

    // T-15, MISC-6: the server never takes a part of the body for the whole
    @Test("a Content-Length for standard input", arguments: [1, 10, 200_000], ["--limit-rate=1G", "-4"])
    func declaredLength(count: Int, option: String) throws {
        let whole = EventRecorder<Int>()
        let server = try ScriptedServer.answering { request in
            whole.record(request.body.count)
            return .text("\(request["Content-Length"] ?? "chunked") \(request.body.count)")
        }
        defer { server.stop() }
        let body = String(repeating: "a", count: count)
        func put(_ length: Int) throws -> RunningCommand.Outcome {
            let words = ["-sS", "-T", "-", option, "-H", "Content-Length: \(length)", server.url("/").absoluteString]
            return try RunningCommand.run(words, input: body, server: server)
        }
        func failure(_ word: String) -> RunningCommand.Outcome {
            RunningCommand.Outcome(
                exit: .code(26), output: "",
                errors: "urlsession: the body is \(word) than the Content-Length of -H: "
                    + "PLACE did not get the whole request\n")
        }
        #expect(try put(count) == .init(exit: .code(0), output: "\(count) \(count)"))
        #expect(try put(count + 1) == failure("shorter"))
        #expect(try put(count + 100_000) == failure("shorter"))
        if count > 1 { #expect(try put(count - 1) == failure("longer")) }
        #expect(whole.events == [count])
    }

    // MISC-6
    @Test(
        "a Content-Length for standard input that is none",
        arguments: ["-1", "0", "+5", "abc", "1.0", "99999999999999999999", "5, 5"])
    func noLength(text: String) throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let refusal = "urlsession: -H: Content-Length needs the number of bytes of the body, from 1 on, and once "
        let words = ["-s", "-T", "-", harness.url("/"), "-H", "Content-Length: \(text)"]
        let outcome = try RunningCommand.run(words, input: "hello")
        #expect(outcome.exit == .code(2) && outcome.errors.hasPrefix(refusal))
        #expect(harness.server.connectionCount == 0)
    }

    @Test("--data and --json of a pipe", arguments: ["-d", "--json"]) func data(option: String) async throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let url = harness.server.url("/").absoluteString
        let (exit, output) = try await withPipe(harness, Self.text) { try harness.run(url, "-s", option, "@" + $0) }
        #expect(exit == .code(0))
        #expect(output == "POST chunked 160000")
    }

    // T-15: nothing is waited for, and nothing is collected
    @Test("--data of a pipe begins before the pipe ends") func beginning() async throws {
        let hasBegun = Signal("the first piece")
        let harness = try CommandHarness(
            ScriptedServer { connection in
                let head = try connection.readRequestHead()
                let piece = try connection.receive(through: "hello\r\n")
                hasBegun.fire()
                let rest = try connection.receive(through: "0\r\n\r\n")
                let output = String(decoding: piece + rest, as: UTF8.self)
                try connection.send(CannedResponse.text("\(head.method) \(output.split(separator: "\r\n"))"), to: head)
            })
        defer { harness.server.stop() }
        let pipe = harness.folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let output = harness.folder.file("output")
        let process = try ChildProcess(
            CommandHarness.executable(), [harness.server.url("/").absoluteString, "-s", "-d", "@" + pipe.path],
            output: output)
        defer { process.end() }
        // For both directions, so that this does not wait for a reader.
        let writer = try FileHandle(forUpdating: pipe)
        try writer.write(contentsOf: Data("hello".utf8))
        // The piece is there although the body has no end.
        try await hasBegun.wait()
        try writer.close()
        #expect(try process.waitForExit() == .code(0))
        #expect(try String(contentsOf: output, encoding: .utf8) == #"POST ["5", "hello", "0"]"#)
    }

    @Test("--cacert of a file without an end") func endlessAuthority() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let (exit, output) = try harness.run(harness.server.url("/").absoluteString, "--cacert", "/dev/zero")
        #expect(exit == .code(26))
        #expect(output == "urlsession: cannot read '/dev/zero': File too large\n")
    }

    @Test("files of /proc") func files() throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let url = harness.server.url("/").absoluteString
        let size = try String(contentsOfFile: "/proc/version", encoding: .utf8).utf8.count
        #expect(try harness.run(url, "-s", "--data-binary", "@/proc/version").output == "POST chunked \(size)")
        #expect(try harness.run("upload", "/proc/version", url, "-s").output == "PUT chunked \(size)")
        #expect(try harness.run(url, "-s", "--json", "@/proc/version").output == "POST chunked \(size)")
        let empty = try harness.folder.write("", to: "empty").path
        #expect(try harness.run("upload", empty, url, "-s").output == "PUT 0 0")
        #expect(try harness.run(url, "-s", "-d", "@" + empty).output == "POST 0 0")
    }

    // T-15
    @Test(
        "standard input, by its name and by its path",
        arguments: [
            ["-d", "@-"], ["-d", "@/dev/stdin"], ["--data-binary", "@/dev/stdin"], ["--json", "@-"],
            ["--json", "@/dev/stdin"], ["-T", "-"], ["-T", "/dev/stdin"], ["upload", "/dev/stdin"],
        ])
    func standardInput(arguments: [String]) throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let url = harness.server.url("/").absoluteString
        let method = arguments[0].hasPrefix("-d") || arguments[0].hasPrefix("--") ? "POST" : "PUT"
        let outcome = try RunningCommand.run(arguments + [url, "-s"], input: Self.text)
        #expect(outcome == RunningCommand.Outcome(exit: .code(0), output: "\(method) chunked 160000"))
    }

    // The form's length is unknown with that of a part.
    @Test("-F of a pipe, and of a file of /proc") func forms() async throws {
        let harness = try CommandHarness(
            .answering { request in
                let parts = request.bodyText.components(separatedBy: "\r\n\r\n")
                let content = parts.last?.components(separatedBy: "\r\n--").first ?? ""
                return .text("\(request.method) \(request["Content-Length"] ?? "chunked") \(content)")
            })
        defer { harness.server.stop() }
        let version = try String(contentsOfFile: "/proc/version", encoding: .utf8)
        for mark in ["@", "<"] {
            #expect(
                try harness.run(harness.url(), "-s", "-F", "f=\(mark)/proc/version").output == "POST chunked " + version
            )
        }
        let (exit, output) = try await withPipe(harness, Self.text) {
            try harness.run(harness.url(), "-s", "-F", "f=@" + $0)
        }
        #expect(exit == .code(0))
        #expect(output == "POST chunked " + Self.text)
    }

    @Test("-K of a pipe") func configuration() async throws {
        let harness = try harness()
        defer { harness.server.stop() }
        let (exit, output) = try await withPipe(harness, "data = \"abc\"\n") {
            try harness.run(harness.url(), "-s", "-K", $0)
        }
        #expect(exit == .code(0))
        #expect(output == "POST 3 3")
    }

    @Test("-b of a pipe") func cookies() async throws {
        let harness = try CommandHarness(.answering { .text($0["Cookie"] ?? "none") })
        defer { harness.server.stop() }
        let line = "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tvalue\n"
        let (exit, output) = try await withPipe(harness, line) { try harness.run(harness.url(), "-s", "-b", $0) }
        #expect(exit == .code(0))
        #expect(output == "sid=value")
    }

    @Test("--cert of a pipe", arguments: [false, true]) func identity(isArchive: Bool) async throws {
        let authority = try TestCertificateAuthority()
        let identity = try authority.issue(.client("somebody"))
        let harness = try CommandHarness(
            .answering(
                .text("hello"),
                tls: TLSServerOptions(authority: authority).with {
                    $0.clientCertificate = .required(trusting: [authority.root])
                }))
        defer { harness.server.stop() }
        let text = identity.chainPEM + identity.privateKey.pem
        let contents = try Data(isArchive ? identity.pkcs12(password: "secret") : Array(text.utf8))
        let url = harness.server.url("/", host: "localhost").absoluteString
        let (exit, output) = try await withPipe(harness, contents) {
            try harness.run(url, "-s", "-k", "--cert", isArchive ? $0 + ":secret" : $0)
        }
        #expect(exit == .code(0))
        #expect(output == "hello")
        #expect(harness.server.connections.map { $0.handshake?.clientCertificate } == [identity.certificate])
    }

    @Test("--cacert of a pipe") func authority() async throws {
        let authority = try TestCertificateAuthority()
        let harness = try CommandHarness(.answering(.text("hello"), tls: TLSServerOptions(authority: authority)))
        defer { harness.server.stop() }
        let url = harness.server.url("/", host: "localhost").absoluteString
        let (exit, output) = try await withPipe(harness, authority.root.pem) {
            try harness.run(url, "-s", "--cacert", $0)
        }
        #expect(exit == .code(0))
        #expect(output == "hello")
    }
}
