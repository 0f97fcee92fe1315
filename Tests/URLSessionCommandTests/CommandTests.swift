import Foundation
import Testing
import URLSessionCommandCore

/// The whole program, against the demo's server.
@Suite struct CommandTests {
    /// A folder of its own for each test, and the server.
    private final class Harness {
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

    @Test func bodyIsWrittenToTheFileUnchanged() throws {
        let harness = try Harness()
        #expect(harness.run("/greeting", "-o", harness.path("a")) == .success)
        #expect(try harness.text("a").hasPrefix("{\"message\":\"Hello from urlsession\","))
        #expect(harness.run("/download", "-o", harness.path("b")) == .success)
        #expect(
            try Data(contentsOf: harness.folder.appendingPathComponent("b")) == Data(repeating: 0x5A, count: 3_000_000))
    }

    // `--fail` prints nothing and leaves an older file alone.
    @Test func failMakesNoFile() throws {
        let harness = try Harness()
        #expect(harness.run("/nowhere", "-f", "-o", harness.path("a")) == .httpError)
        #expect(!FileManager.default.fileExists(atPath: harness.path("a")))
        #expect(harness.run("/nowhere", "-o", harness.path("a")) == .success)
        #expect(try harness.text("a") == "There is nothing here.\n")
    }

    // T-33: the response of a redirect that is not followed is the result.
    @Test func redirects() throws {
        let harness = try Harness()
        #expect(harness.run("/moved", "-o", harness.path("a")) == .success)
        #expect(try harness.text("a").hasPrefix("{\"message\""))
        #expect(harness.run("/moved", "--no-follow", "-i", "-o", harness.path("b")) == .success)
        #expect(try harness.text("b").hasPrefix("HTTP/1.1 302 Found\r\n"))
        #expect(harness.run("/moved", "--max-redirects", "0", "-o", harness.path("c")) == .tooManyRedirects)
    }

    // T-31
    @Test func uploads() throws {
        let harness = try Harness()
        #expect(harness.run("/upload", "-d", "12345", "-o", harness.path("a")) == .success)
        #expect(try harness.text("a") == "{\"received\":5}")
        try Data(repeating: 0x61, count: 100_000).write(to: harness.folder.appendingPathComponent("body"))
        #expect(harness.run("/upload", "-d", "@" + harness.path("body"), "-o", harness.path("b")) == .success)
        #expect(try harness.text("b") == "{\"received\":100000}")
    }

    // CONN-12, CONN-15, CONN-27
    @Test func failures() throws {
        let harness = try Harness()
        #expect(harness.run("/silent", "--idle-timeout", "0.3") == .timedOut)
        #expect(harness.run("/silent", "-m", "0.3") == .timedOut)
        #expect(harness.run("/truncated", "-o", harness.path("a")) == .partialBody)
        #expect(try harness.text("a").count == 400_000)
        let port = try DemoServer.unusedPort()
        #expect(Command.run(arguments: ["-s", "http://127.0.0.1:\(port)/"], terminal: Terminal()) == .cannotConnect)
    }

    @Test func fileThatCannotBeWritten() throws {
        let harness = try Harness()
        #expect(harness.run("/greeting", "-o", harness.path("no/such/folder")) == .writeError)
        #expect(harness.run("/download", "-o", "/dev/full") == .writeError)
    }

    @Test func binaryBodiesAreRefusedOnATerminal() throws {
        let harness = try Harness()
        let code = Command.run(
            arguments: [harness.server.baseURL + "/binary", "-s"], terminal: Terminal(outputIsTerminal: true))
        #expect(code == .writeError)
    }

    // MET-1, MET-17
    @Test func archiveHasEveryTransaction() throws {
        let harness = try Harness()
        #expect(harness.run("/moved", "--har", harness.path("har"), "-o", harness.path("a")) == .success)
        let data = try Data(contentsOf: harness.folder.appendingPathComponent("har"))
        let log = try JSONDecoder().decode(HARDocument.self, from: data).log
        #expect(log.version == "1.2")
        #expect(log.entries.map(\.response.status) == [302, 200])
        #expect(
            log.entries.map(\.request.url) == [harness.server.baseURL + "/moved", harness.server.baseURL + "/greeting"])
        #expect(log.entries.last?.response.content.text == (try harness.text("a")))
        #expect(log.entries.map { $0.timings.dns } == [-1, -1])
        #expect(log.entries.map { $0.timings.ssl } == [-1, -1])
    }
}
