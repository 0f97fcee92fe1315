import Foundation
import TestSupport
import Testing

/// The progress bar of an upload, on a pseudo-terminal.
@Suite(.enabled(if: access("/usr/bin/script", X_OK) == 0)) struct UploadProgressTests {
    // T-15
    @Test("also if the response is printed on the terminal", arguments: [["upload"], ["post"]])
    func bar(_ command: [String]) async throws {
        let seen = Signal()
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 64 * 1024
        let server = try ScriptedServer(options) { connection in
            let head = try connection.readRequestHead()
            try connection.wait(for: seen)
            let request = try connection.readBody(of: head)
            try connection.send(.text("got \(request.body.count)"), to: request)
            try connection.waitForClose()
        }
        let harness = try CommandHarness(server)
        defer { server.stop() }
        let file = harness.folder.file("large")
        try Data().write(to: file)
        #expect(truncate(file.path, 12 << 20) == 0)
        let url = server.url("/").absoluteString
        let words =
            command == ["upload"] ? ["upload", file.path, url] : ["post", url, "--data-binary", "@" + file.path]
        let program = try CommandHarness.executable()
        let line = ([program] + words).map { "'\($0)'" }.joined(separator: " ")
        let output = harness.folder.file("output")
        let process = try ChildProcess(
            "/usr/bin/script", ["-qefc", line, "/dev/null"], environment: ["TERM": "xterm", "LC_ALL": "C.UTF-8"],
            output: output)
        defer { process.end() }
        try await eventually {
            ((try? String(contentsOf: output, encoding: .utf8)) ?? "").contains(" of 12.0 MiB")
        }
        seen.fire()
        #expect(try process.waitForExit() == .code(0))
        let shown = try String(contentsOf: output, encoding: .utf8)
        // The bar is gone before the response is there.
        let bar = try #require(shown.range(of: "\r\u{1B}[K", options: .backwards))
        let body = try #require(shown.range(of: "got \(12 << 20)"))
        #expect(bar.upperBound <= body.lowerBound)
    }
}
