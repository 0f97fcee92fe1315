import Foundation
import TestSupport
import Testing

/// Processes that cannot load, with the program of `Tests/SessionUser`.
@Suite(.leavesNothing) struct ProcessTests {
    private static let forked =
        "-2000 A process that was forked off cannot load before it has executed a program"

    // T-7: every task has an end
    @Test("in a process that was forked off") func forked() throws {
        let released = Signal("the response")
        let server = try ScriptedServer.webSocket(
            refusing: { request in
                switch request.path {
                case "/socket": return nil
                case "/held": return CannedResponse.text("held").held(until: released)
                case "/release":
                    released.fire()
                    return .text("released")
                default: return .text("x")
                }
            }, script: { try $0.echo() })
        defer { server.stop() }
        let lines = try SessionUser().run("forked", server.url().absoluteString)
        let ofSockets = ["socket", "new socket"].flatMap { name in
            ["sent", "received", "pong", "awaited", "awaited"].map { "child, \(name), \($0): \(Self.forked)" }
        }
        let expected = [
            "before: 200 x", "beside: 200 x", "child, old session: \(Self.forked)", "child, delegate: \(Self.forked)",
            "child, cancelled: -999", "child, new session: \(Self.forked)", "child, contents: 256",
        ]
        #expect(
            Array(lines.dropLast(3))
                == expected + ofSockets + ["child, contents in a handler: 256", "child, invalid"])
        // The parent's loads go on, and end in any order.
        #expect(lines.suffix(3).dropLast().sorted() == ["after: 200 released", "held: 200 held"])
        #expect(lines.last == "socket: still there")
        // What the child did has touched no connection of its parent's.
        #expect(server.requests.map(\.path).sorted() == ["/", "/", "/held", "/release", "/socket"])
    }

    // T-7: whatever other threads are at when the process is forked
    @Test("in processes that are forked off while other threads work", .timeLimit(.minutes(2))) func forkedOften()
        throws
    {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let lines = try SessionUser().run("forked-often", server.url().absoluteString)
        #expect(lines == ["before: 200 x", "without an end: 0"])
    }

    // T-7
    @Test("without threads", .enabled(if: geteuid() == 0)) func withoutThreads() throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let reason = "-2000 No thread could be started to load with"
        let lines = try SessionUser().run("without-threads", server.url().absoluteString)
        // A user without write permission gets an error.
        #expect(
            lines.filter { !$0.hasPrefix("URLLoading:") } == [
                "handler: \(reason)", "delegate: \(reason)", "download: \(reason)", "cancelled: -999", "contents: 256",
                "invalid", "with threads: 200 x",
            ])
    }

    // CONN-14, T-7: the loop waits for descriptors too, on a thread of its own
    @Test("without descriptors for the first session") func withoutDescriptors() throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let lines = try SessionUser().run("without-descriptors", server.url().absoluteString)
        #expect(lines == ["without descriptors: -1001", "cancelled: -999", "waits: 200 x"])
    }
}
