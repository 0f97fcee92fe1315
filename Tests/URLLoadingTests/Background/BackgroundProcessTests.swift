import Foundation
import Glibc
import TestSupport
import Testing

/// Background sessions of a program that ends and is started again, with the service in a process of its own.
@Suite(.leavesNothing) struct BackgroundProcessTests {
    private let user: BackgroundUser

    init() throws { user = try BackgroundUser() }

    // BG-5, BG-6, BG-12, S-20, S-23: the transfers go on, and are reported once
    @Test("a program that ends", arguments: ["exit", "die"]) func aProgramThatEnds(how: String) async throws {
        let mayAnswer = Signal("the answer")
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                try connection.wait(for: mayAnswer)
                let name = request.target.dropFirst()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(name.count)\r\n\r\n\(name)")
            }
        }
        defer { server.stop() }
        let urls = ["one", "two"].map { server.url("/" + $0).absoluteString }
        let started = try user.run("start", "s", how, urls[0], urls[1])
        #expect(started.lines == ["task 1", "task 2"])
        #expect(started.exit == (how == "exit" ? .code(0) : .signal(SIGKILL)))
        #expect(Set(try user.run("list", "s").lines) == ["task 1 one 0", "task 2 two 0"])
        mayAnswer.fire()
        let finished = try user.run("finish", "s", "2")
        #expect(finished.exit == .code(0))
        #expect(
            finished.lines.filter { $0 != "finished" }.sorted() == [
                "completed 1 0", "completed 2 0", "downloaded 1 one one", "downloaded 2 two two",
            ])
        #expect(try user.run("list", "s").lines == [])
        #expect(user.files == [])
        try await user.endService()
    }

    // BG-6, BG-12: a callback that was running is made again, the others are not
    @Test("a program that is killed in a callback", arguments: 1...4)
    func aProgramThatIsKilledInACallback(number: Int) async throws {
        let server = try ScriptedServer.answering { .text(String($0.target.dropFirst())) }
        defer { server.stop() }
        let urls = ["one", "two"].map { server.url("/" + $0).absoluteString }
        _ = try user.run("start", "s", "exit", urls[0], urls[1])
        try await eventually { [user] in user.files.count == 2 && server.requests.count == 2 }
        let first = try user.run("finish", "s", "2", "die", "\(number)")
        #expect(first.exit == .signal(SIGKILL))
        #expect(first.lines.count == number - 1)
        let rest = 2 - first.lines.filter { $0.hasPrefix("completed") }.count
        let second = try user.run("finish", "s", "\(rest)")
        #expect(second.exit == .code(0))
        let lines = first.lines + second.lines
        #expect(
            lines.filter { $0 != "finished" }.sorted() == [
                "completed 1 0", "completed 2 0", "downloaded 1 one one", "downloaded 2 two two",
            ])
        #expect(try user.run("list", "s").lines == [])
        try await user.endService()
    }

    // TLS-12
    @Test("the service writes TLS keys if the program that starts it does", arguments: [true, false])
    func keys(areWritten: Bool) async throws {
        let server = try ScriptedServer.answering(.text("one"), tls: TrustedAuthority.server())
        defer { server.stop() }
        let words = (areWritten ? [] : ["without-keys"]) + ["start", "s", "exit", server.url("/one").absoluteString]
        let file = user.home.file("keys")
        #expect(try user.run(words, keyLog: file).lines == ["task 1"])
        let finished = try user.run("finish", "s", "1").lines
        #expect(finished.filter { $0 != "finished" } == ["downloaded 1 one one", "completed 1 0"])
        let keys = try? String(contentsOf: file, encoding: .utf8)
        #expect(keys?.contains("CLIENT_HANDSHAKE_TRAFFIC_SECRET ") == (areWritten ? true : nil), "\(keys ?? "")")
        try await user.endService()
    }

    // BG-11, S-80, S-97: the program gets the identifier, and all events
    @Test("a program that is launched") func aProgramThatIsLaunched() async throws {
        let server = try ScriptedServer.answering { .text(String($0.target.dropFirst())) }
        defer { server.stop() }
        _ = try user.run("start", "s", "exit", server.url("/one").absoluteString)
        try await eventually { [user] in user.files.count == 1 && server.requests.count == 1 }
        let launched = try user.run("launched", launchedFor: "s")
        #expect(launched.exit == .code(0))
        #expect(launched.lines == ["downloaded 1 one one", "completed 1 0", "finished"])
        #expect(try user.run("list", "s").lines == [])
        try await user.endService()
    }

    // BG-6, BG-7: the other process has the socket of the session
    @Test("a program that was killed, and has forked a process that was not") func forkedProcess() async throws {
        let server = try ScriptedServer.answering(.text("one"))
        defer { server.stop() }
        let lines = try user.run("fork", "s", server.url("/one").absoluteString).lines
        let child = try #require(lines.last.flatMap { pid_t($0) })
        defer { kill(child, SIGKILL) }
        #expect(lines.dropLast() == ["task 1"])
        #expect(
            try user.run("finish", "s", "1").lines.filter { $0 != "finished" } == [
                "downloaded 1 - one", "completed 1 0",
            ])
        #expect(kill(child, 0) == 0)
        try await user.endService()
    }

    // BG-5, BG-21: a new service goes on with what the journal has
    @Test("a service that is killed") func aServiceThatIsKilled() async throws {
        let mayAnswer = Signal("the answer")
        let server = try ScriptedServer { connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: mayAnswer)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
            }
        }
        defer { server.stop() }
        _ = try user.run("start", "s", "die", server.url("/one").absoluteString)
        try await user.endService(SIGKILL)
        mayAnswer.fire()
        #expect(
            try user.run("finish", "s", "1").lines.filter { $0 != "finished" } == [
                "downloaded 1 one late", "completed 1 0",
            ])
        #expect(user.files == [])
        try await user.endService()
    }
}
