import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// A machine that starts again: the service and the runtime folder are gone, and the state folder is kept.
@Suite(.leavesNothing) struct BackgroundRestartTests {
    private static let sessions = ["a", "b", "c"]
    private static let count = 12

    /// What a server has to do at once.
    private struct Arrivals {
        var order: [String: [Int]] = [:]
        var running = 0
        var most = 0

        var count: Int { order.values.map(\.count).reduce(0, +) }

        mutating func begin(_ session: String, _ task: Int) {
            order[session, default: []].append(task)
            running += 1
            most = max(most, running)
        }
    }

    // BG-5, BG-6, BG-19: a few of each session at once, without its program
    @Test("the machine is started again") func theMachineIsStartedAgain() async throws {
        let user = try BackgroundUser()
        let mayAnswer = Signal("the answer")
        let arrivals = Watched(Arrivals())
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if request.target == "/marker" {
                    try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
                    continue
                }
                let words = request.target.split(separator: "/").map(String.init)
                arrivals.withValue { $0.begin(words[0], Int(words[1]) ?? 0) }
                try connection.wait(for: mayAnswer)
                arrivals.withValue { $0.running -= 1 }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
            }
        }
        defer { server.stop() }
        for session in Self.sessions {
            let urls = (1...Self.count).map { server.url("/\(session)/\($0)").absoluteString }
            #expect(try user.start(session, urls).exit == .signal(SIGKILL))
        }
        try await user.endService(SIGKILL)
        // What the service had sent is read before what follows is counted.
        let session = URLSession(configuration: .ephemeral)
        _ = try await session.data(from: server.url("/marker"))
        session.invalidateAndCancel()
        try await eventually {
            server.connections.allSatisfy { $0.isClosed || !$0.requests.isEmpty }
                && arrivals.current.count == server.requests.count - 1
        }
        try FileManager.default.removeItem(at: user.home.file("runtime"))
        try FileManager.default.createDirectory(
            at: user.home.file("runtime"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        arrivals.withValue { $0 = Arrivals() }
        let first = [1, 2, 3, 4]
        // The first program after the start. Those of the others come later.
        #expect(try user.run("list", "a").lines == (1...Self.count).map { "task \($0) \($0) 0" })
        try await arrivals.wait(for: "four of each session") { $0.running >= 12 ? true : nil }
        #expect(arrivals.current.order.mapValues { $0.sorted() } == ["a": first, "b": first, "c": first])
        mayAnswer.fire()
        let all = Array(1...Self.count)
        for session in Self.sessions {
            let finished = try user.run("finish", session, "\(Self.count)")
            #expect(
                Set(finished.lines.filter { $0.hasPrefix("completed") })
                    == Set((1...Self.count).map { "completed \($0) 0" }))
        }
        #expect(arrivals.current.order.mapValues { $0.sorted() } == ["a": all, "b": all, "c": all])
        #expect(arrivals.current.most == 12)
        try await user.endService()
    }
}
