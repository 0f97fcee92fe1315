import Foundation
import TestSupport
import Testing

@testable import URLSessionCommandCore

/// `background` in processes of its own, with a service of its own.
@Suite struct BackgroundCommandTests {
    /// A user's folders.
    private struct Home {
        let directory: TemporaryDirectory
        let environment: [String: String]

        init() throws {
            directory = try TemporaryDirectory()
            for name in ["state", "run", "config", "files"] {
                try FileManager.default.createDirectory(
                    at: directory.file(name), withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            }
            environment = [
                "XDG_STATE_HOME": directory.path + "/state", "XDG_RUNTIME_DIR": directory.path + "/run",
                "XDG_CONFIG_HOME": directory.path + "/config", "HOME": directory.path,
                "XDG_DATA_HOME": directory.path + "/data", "XDG_CACHE_HOME": directory.path + "/cache",
            ]
        }

        func run(_ arguments: String...) throws -> (exit: ChildProcess.Exit, output: String) {
            try ChildProcess.run(CommandHarness.executable(), ["background"] + arguments, environment: environment)
        }
    }

    // BG-22
    @Test func withoutAService() throws {
        let home = try Home()
        let hint = "urlsession: no background service is running: nothing is being transferred\n"
        #expect(try home.run("list") == (.code(0), hint))
        #expect(try home.run("watch") == (.code(0), hint))
        #expect(try home.run("list", "--json") == (.code(0), hint + "[\n\n]\n"))
        let (exit, output) = try home.run("cancel", "1")
        #expect(exit == .code(4))
        #expect(output.hasPrefix(hint + "urlsession: there is no background transfer '1'"))
    }

    // BG-5, BG-11, S-97
    @Test func downloadOutlivesTheCommand() async throws {
        let home = try Home()
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\nwhat was asked for")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let folder = home.directory.file("files")
        let (exit, output) = try home.run("add", server.url("/a.txt").absoluteString, "-o", folder.path)
        #expect(exit == .code(0))
        #expect(output.hasPrefix("added add-") && output.hasSuffix("/a.txt\n"))
        let file = folder.appendingPathComponent("a.txt")
        try await eventually(within: .seconds(30)) { FileManager.default.fileExists(atPath: file.path) }
        #expect(try String(contentsOf: file, encoding: .utf8) == "what was asked for")
        // Nothing is left in the list.
        try await eventually(within: .seconds(30)) { (try? home.run("list"))?.output.contains("a.txt") == false }
        #expect(try home.run("add", server.url("/a.txt").absoluteString, "-o", folder.path).exit == .code(23))
    }

    // S-70: what the delegate does not move is removed
    @Test func downloadWithoutItsFolderIsKept() async throws {
        let home = try Home()
        let folder = home.directory.file("files")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try FileManager.default.removeItem(at: folder)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\nwhat was asked for")
            try connection.waitForClose()
        }
        defer { server.stop() }
        #expect(try home.run("add", server.url("/a.txt").absoluteString, "-o", folder.path).exit == .code(0))
        let kept = home.directory.file("state/swift-url-loading/background/delivered/a.txt")
        try await eventually(within: .seconds(30)) { FileManager.default.fileExists(atPath: kept.path) }
        #expect(try String(contentsOf: kept, encoding: .utf8) == "what was asked for")
        try await eventually(within: .seconds(30)) { (try? home.run("list"))?.output.contains("a.txt") == false }
    }

    // S-70
    @Test func deliveryToAPlaceThatIsGone() throws {
        let directory = try TemporaryDirectory()
        let others = directory.file("delivered")
        let target = directory.file("gone/a.txt").path
        for (contents, name) in [("one", "a.txt"), ("two", "a.txt.2")] {
            let file = try directory.write(contents, to: "download")
            let kept = others.appendingPathComponent(name)
            let failure = BackgroundDelivery.deliver(file, to: target, otherwiseTo: others)
            #expect(failure?.exitCode == .writeError)
            #expect(failure?.message.hasPrefix("cannot move the download to '\(target)' (") == true)
            #expect(failure?.message.hasSuffix("): it is in '\(kept.path)'") == true)
            #expect(try String(contentsOf: kept, encoding: .utf8) == contents)
        }
        // The folder is there again.
        let file = try directory.write("three", to: "download")
        try directory.write("", to: "gone/other")
        #expect(BackgroundDelivery.deliver(file, to: target, otherwiseTo: others) == nil)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "three")
    }

    // BG-22
    @Test func listPauseAndCancel() async throws {
        let home = try Home()
        // It never answers.
        let port = try SaturatedPort()
        let url = "http://127.0.0.1:\(port.port)/slow"
        #expect(try home.run("add", url, "-o", home.directory.file("files").path).exit == .code(0))
        let list = try home.run("list")
        #expect(list.exit == .code(0) && list.output.contains(url) && list.output.hasPrefix("APPLICATION"))
        #expect(try home.run("log", "1").output.contains("Download   \(url)"))
        #expect(try home.run("pause", "1").output.hasPrefix("paused urlsession/add-"))
        try await eventually { (try? home.run("list"))?.output.contains("suspended") == true }
        #expect(try home.run("resume", "1").output.hasPrefix("resumed urlsession/add-"))
        #expect(try home.run("cancel", "1").output.hasPrefix("cancelled urlsession/add-"))
        try await eventually(within: .seconds(30)) { (try? home.run("list"))?.output.contains(url) == false }
    }

    // BG-21
    @Test func install() throws {
        let home = try Home()
        let (exit, output) = try home.run("install")
        #expect(exit == .code(0) && output.contains("systemctl --user enable --now urlsessiond.socket"))
        let folder = home.directory.file("config/systemd/user")
        let service = folder.appendingPathComponent("urlsessiond.service")
        #expect(try String(contentsOf: service, encoding: .utf8).contains("ExecStart=\"/"))
        #expect(try home.run("install").exit == .code(0))
        try "[Unit]\n".write(to: service, atomically: true, encoding: .utf8)
        let again = try home.run("install")
        #expect(again.exit == .code(23) && again.output.contains("was not written by this command"))
        #expect(try String(contentsOf: service, encoding: .utf8) == "[Unit]\n")
    }
}
