import Foundation
import Testing
import URLSessionCommandCore

/// The whole program, against the demo's server.
@Suite struct CommandTests {
    /// A folder of its own for each test, and the server.
    private final class Scene {
        let folder: URL
        let server: DemoServer

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("urlsession-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            server = try DemoServer(downloadSize: 3_000_000)
        }

        deinit {
            server.stop()
            try? FileManager.default.removeItem(at: folder)
        }

        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

        func run(_ path: String, _ arguments: String...) -> ExitCode {
            Command.run(arguments: [server.baseURL + path, "-s"] + arguments, terminal: Terminal())
        }

        func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }
    }

    @Test func bodyGoesToTheFileExactly() throws {
        let scene = try Scene()
        #expect(scene.run("/greeting", "-o", scene.path("a")) == .success)
        #expect(try scene.text("a").hasPrefix("{\"message\":\"Hello from urlsession\","))
        #expect(scene.run("/download", "-o", scene.path("b")) == .success)
        #expect(
            try Data(contentsOf: scene.folder.appendingPathComponent("b")) == Data(repeating: 0x5A, count: 3_000_000))
    }

    // `--fail` prints nothing and leaves an older file alone.
    @Test func failMakesNoFile() throws {
        let scene = try Scene()
        #expect(scene.run("/nowhere", "-f", "-o", scene.path("a")) == .httpError)
        #expect(!FileManager.default.fileExists(atPath: scene.path("a")))
        #expect(scene.run("/nowhere", "-o", scene.path("a")) == .success)
        #expect(try scene.text("a") == "There is nothing here.\n")
    }

    // T-33: the response of a redirect that is not followed is the result.
    @Test func redirects() throws {
        let scene = try Scene()
        #expect(scene.run("/moved", "-o", scene.path("a")) == .success)
        #expect(try scene.text("a").hasPrefix("{\"message\""))
        #expect(scene.run("/moved", "--no-follow", "-i", "-o", scene.path("b")) == .success)
        #expect(try scene.text("b").hasPrefix("HTTP/1.1 302 Found\r\n"))
        #expect(scene.run("/moved", "--max-redirects", "0", "-o", scene.path("c")) == .tooManyRedirects)
    }

    // T-31
    @Test func uploads() throws {
        let scene = try Scene()
        #expect(scene.run("/upload", "-d", "12345", "-o", scene.path("a")) == .success)
        #expect(try scene.text("a") == "{\"received\":5}")
        try Data(count: 100_000).write(to: scene.folder.appendingPathComponent("body"))
        #expect(scene.run("/upload", "-d", "@" + scene.path("body"), "-o", scene.path("b")) == .success)
        #expect(try scene.text("b") == "{\"received\":100000}")
    }

    // CONN-12, CONN-15, CONN-27
    @Test func failures() throws {
        let scene = try Scene()
        #expect(scene.run("/silent", "--idle-timeout", "0.3") == .timedOut)
        #expect(scene.run("/silent", "-m", "0.3") == .timedOut)
        #expect(scene.run("/truncated", "-o", scene.path("a")) == .partialBody)
        #expect(try scene.text("a").count == 400_000)
        let port = try DemoServer.unusedPort()
        #expect(Command.run(arguments: ["-s", "http://127.0.0.1:\(port)/"], terminal: Terminal()) == .cannotConnect)
    }

    @Test func fileThatCannotBeWritten() throws {
        let scene = try Scene()
        #expect(scene.run("/greeting", "-o", scene.path("no/such/folder")) == .writeError)
        #expect(scene.run("/download", "-o", "/dev/full") == .writeError)
    }

    @Test func binaryBodiesAreRefusedOnATerminal() throws {
        let scene = try Scene()
        let code = Command.run(
            arguments: [scene.server.baseURL + "/binary", "-s"], terminal: Terminal(outputIsTerminal: true))
        #expect(code == .writeError)
    }

    // MET-1, MET-17
    @Test func archiveHasEveryTransaction() throws {
        let scene = try Scene()
        #expect(scene.run("/moved", "--har", scene.path("har"), "-o", scene.path("a")) == .success)
        let data = try Data(contentsOf: scene.folder.appendingPathComponent("har"))
        let log = try JSONDecoder().decode(HARDocument.self, from: data).log
        #expect(log.version == "1.2")
        #expect(log.entries.map(\.response.status) == [302, 200])
        #expect(
            log.entries.map(\.request.url) == [scene.server.baseURL + "/moved", scene.server.baseURL + "/greeting"])
        #expect(log.entries.last?.response.content.text == (try scene.text("a")))
        #expect(log.entries.map { $0.timings.dns } == [-1, -1])
        #expect(log.entries.map { $0.timings.ssl } == [-1, -1])
    }
}
