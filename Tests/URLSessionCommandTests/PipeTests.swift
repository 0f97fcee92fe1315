import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// Files that are no regular files, or whose size says nothing.
@Suite struct PipeTests {
    private static let text = String(repeating: "0123456789abcdef", count: 10_000)

    private func scene() throws -> CommandScene {
        try CommandScene(.answering { .text("\($0.method) \($0["Content-Length"] ?? "chunked") \($0.body.count)") })
    }

    /// Writes to a pipe that is there from then on.
    private func withPipe<Result>(
        _ scene: CommandScene, _ contents: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        let pipe = scene.folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        async let written: Void = Data(contents.utf8).write(to: pipe)
        let result = try await body(pipe.path)
        try await written
        return result
    }

    // T-15, T-53: a pipe goes out as it is read
    @Test("upload of a pipe") func upload() async throws {
        let scene = try scene()
        defer { scene.server.stop() }
        let url = scene.server.url("/").absoluteString
        let (exit, said) = try await withPipe(scene, Self.text) { try scene.run("upload", $0, url, "-s") }
        #expect(exit == .code(0))
        #expect(said == "PUT chunked 160000")
    }

    @Test("--data and --json of a pipe", arguments: ["-d", "--json"]) func data(option: String) async throws {
        let scene = try scene()
        defer { scene.server.stop() }
        let url = scene.server.url("/").absoluteString
        let (exit, said) = try await withPipe(scene, Self.text) { try scene.run(url, "-s", option, "@" + $0) }
        #expect(exit == .code(0))
        #expect(said == "POST chunked 160000")
    }

    // T-15: nothing is waited for, and nothing is collected
    @Test("--data of a pipe begins before the pipe ends") func beginning() async throws {
        let hasBegun = Signal("the first piece")
        let scene = try CommandScene(
            ScriptedServer { connection in
                let head = try connection.readRequestHead()
                let piece = try connection.receive(through: "hello\r\n")
                hasBegun.fire()
                let rest = try connection.receive(through: "0\r\n\r\n")
                let said = String(decoding: piece + rest, as: UTF8.self)
                try connection.send(CannedResponse.text("\(head.method) \(said.split(separator: "\r\n"))"), to: head)
            })
        defer { scene.server.stop() }
        let pipe = scene.folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let output = scene.folder.file("output")
        let process = try ChildProcess(
            CommandScene.executable(), [scene.server.url("/").absoluteString, "-s", "-d", "@" + pipe.path],
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
        let scene = try scene()
        defer { scene.server.stop() }
        let (exit, said) = try scene.run(scene.server.url("/").absoluteString, "--cacert", "/dev/zero")
        #expect(exit == .code(26))
        #expect(said == "urlsession: cannot read '/dev/zero': File too large\n")
    }

    @Test("files of /proc") func files() throws {
        let scene = try scene()
        defer { scene.server.stop() }
        let url = scene.server.url("/").absoluteString
        let size = try String(contentsOfFile: "/proc/version", encoding: .utf8).utf8.count
        #expect(try scene.run(url, "-s", "-d", "@/proc/version").said == "POST chunked \(size)")
        #expect(try scene.run("upload", "/proc/version", url, "-s").said == "PUT chunked \(size)")
        let empty = try scene.folder.write("", to: "empty").path
        #expect(try scene.run("upload", empty, url, "-s").said == "PUT 0 0")
        #expect(try scene.run(url, "-s", "-d", "@" + empty).said == "POST 0 0")
    }

    @Test("--cacert of a pipe") func authority() async throws {
        let authority = try TestCertificateAuthority()
        let scene = try CommandScene(.answering(.text("hello"), tls: TLSServerOptions(authority: authority)))
        defer { scene.server.stop() }
        let url = scene.server.url("/", host: "localhost").absoluteString
        let (exit, said) = try await withPipe(scene, authority.root.pem) { try scene.run(url, "-s", "--cacert", $0) }
        #expect(exit == .code(0))
        #expect(said == "hello")
    }
}
