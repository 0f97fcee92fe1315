import Foundation
import TestSupport
import Testing

/// Several URLs, one after the other and in parallel.
@Suite struct SeriesTests {
    // CONN-10
    @Test func oneConnectionForAll() throws {
        let harness = try CommandHarness(.echoing())
        defer { harness.server.stop() }
        let urls = ["/a", "/b", "/c"].map { harness.url($0) }
        #expect(try harness.runInFolder(["-s"] + urls).output == "GET /a GET /b GET /c ")
        #expect(harness.server.connectionCount == 1)
        #expect(try harness.runInFolder(["post", "-s", "-d", "x"] + urls).output == "POST /a xPOST /b xPOST /c x")
    }

    @Test func outputsBelongToURLs() throws {
        let harness = try CommandHarness(.echoing())
        defer { harness.server.stop() }
        let line = ["-s", "-o", "first", "-O", harness.url("/a"), harness.url("/b"), harness.url("/c")]
        #expect(try harness.runInFolder(line).output == "GET /c ")
        #expect(try [harness.text("first"), harness.text("b")] == ["GET /a ", "GET /b "])
        let all = ["-s", "--remote-name-all", harness.url("/d"), "--url", harness.url("/e")]
        #expect(try harness.runInFolder(all).output == "")
        #expect(try [harness.text("d"), harness.text("e")] == ["GET /d ", "GET /e "])
        _ = try harness.write("up", to: "f")
        let uploads = ["-s", "-T", "f", "-T", "f", harness.url("/x/"), harness.url("/y"), harness.url("/z")]
        #expect(try harness.runInFolder(uploads).output == "PUT /x/f upPUT /y upGET /z ")
    }

    /// The others are loaded, and what they share is written.
    @Test func oneURLIsWrong() throws {
        let harness = try CommandHarness(.echoing())
        defer { harness.server.stop() }
        let line = ["-s", "-c", "jar", harness.url("/a"), "http://[bad", harness.url("/b")]
        let outcome = try harness.runInFolder(line)
        #expect(outcome.exit == .code(0))
        #expect(harness.server.requests.map(\.path) == ["/a", "/b"])
        #expect(try harness.names() == ["jar"])
        let both = try harness.runInFolder(["-s", "-T", "-", "-T", "-", harness.url("/a"), harness.url("/b")])
        #expect(both.exit == .code(2))
        #expect(both.output == "urlsession: standard input can be sent to one URL only (try 'urlsession --help')\n")
    }

    @Test func lastURLDecides() throws {
        let harness = try CommandHarness(.answering { $0.path == "/ok" ? .text("ok") : .text("no", status: 404) })
        defer { harness.server.stop() }
        let (ok, no) = (harness.url("/ok"), harness.url("/no"))
        #expect(try harness.runInFolder(["-sf", no, ok]) == RunningCommand.Outcome(exit: .code(0), output: "ok"))
        #expect(try harness.runInFolder(["-sf", ok, no]) == RunningCommand.Outcome(exit: .code(22), output: "ok"))
        #expect(try harness.runInFolder(["-sf", "--fail-early", no, ok]).exit == .code(22))
        #expect(harness.server.requests.count == 5)
        #expect(try harness.runInFolder(["-sfZ", no, ok]).exit == .code(22))
    }

    /// All requests are there before any is answered.
    @Test func parallelLoads() async throws {
        let arrived = Watched(0)
        let all = Signal("all requests")
        let harness = try CommandHarness(
            .answering { request in
                let count = arrived.withValue { count in
                    count += 1
                    return count
                }
                if count == 3 { all.fire() }
                return CannedResponse.text(request.path).held(until: all)
            })
        defer { harness.server.stop() }
        let urls = ["/a", "/b", "/c"].map { harness.url($0) }
        let outcome = try harness.runInFolder(["-s", "-Z", "--remote-name-all"] + urls)
        #expect(outcome.exit == .code(0), "\(outcome.output)")
        #expect(try ["a", "b", "c"].map(harness.text) == ["/a", "/b", "/c"])
    }

    @Test func parallelLoadsAreLimited() throws {
        let running = Watched(0)
        let most = Watched(0)
        let harness = try CommandHarness(
            .answering { request in
                let count = running.withValue { count in
                    count += 1
                    return count
                }
                most.withValue { $0 = max($0, count) }
                defer { running.withValue { $0 -= 1 } }
                return .text(request.path)
            })
        defer { harness.server.stop() }
        let urls = (0..<20).map { harness.url("/\($0)") }
        #expect(try harness.runInFolder(["-s", "-Z", "--parallel-max", "2"] + urls).exit == .code(0))
        #expect(most.withValue { $0 } <= 2)
        #expect(harness.server.requests.count == 20)
    }

    /// One bar for each load, on a pseudo-terminal.
    @Test(.enabled(if: access("/usr/bin/script", X_OK) == 0)) func barsOfParallelLoads() async throws {
        // Of each load, so that none of them takes what the other needs.
        let permits = [Permits(), Permits()]
        let harness = try CommandHarness(
            .answering { request in
                CannedResponse.paced(
                    [UInt8](repeating: 65, count: 2_000_000), portion: 1_000_000,
                    by: permits[request.path == "/1" ? 0 : 1])
            })
        defer { harness.server.stop() }
        for permit in permits { permit.release(1) }
        let words = [try CommandHarness.executable(), "-Z", "-o", harness.path("one"), "-o", harness.path("two")]
        let line = (words + [harness.url("/1"), harness.url("/2")]).map { "'\($0)'" }.joined(separator: " ")
        let output = harness.folder.file("output")
        let process = try ChildProcess(
            "/usr/bin/script", ["-qefc", line, "/dev/null"], environment: ["TERM": "xterm", "LC_ALL": "C.UTF-8"],
            output: output)
        defer { process.end() }
        try await eventually {
            let shown = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
            return shown.split(separator: "\u{1B}[J").contains { $0.contains("one ") && $0.contains("two ") }
        }
        for permit in permits { permit.release(1) }
        #expect(try process.waitForExit() == .code(0))
    }
}
