import Foundation
import TestSupport
import Testing
import URLLoading

/// Many WebSockets of one session. `soak websockets` has ten thousand, and measures their memory.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketCrowdTests {
    /// Counts the ends of tasks, and the results of their operations.
    private final class Counts: NSObject, URLSessionWebSocketDelegate, Sendable {
        let opened = Watched(0)
        let ends = Watched<[Int: Int]>([:])
        let results = Watched<[Int: Int]>([:])
        let isInvalid = Signal("the end of the session")

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
        ) {
            opened.withValue { $0 += 1 }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            ends.withValue { $0[task.taskIdentifier, default: 0] += 1 }
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { isInvalid.fire() }

        func exchange(_ text: String, over task: URLSessionWebSocketTask) {
            let number = task.taskIdentifier
            task.receive { [results] _ in results.withValue { $0[number, default: 0] += 1 } }
            task.send(.string(text)) { [results] _ in results.withValue { $0[number, default: 0] += 1 } }
        }
    }

    // T-5, T-7, WS-10, WS-11, WS-13
    @Test("five hundred at once end in every way", .needs(.node)) func fiveHundred() async throws {
        let server = try WebSocketServer(.node)
        defer { server.stop() }
        let counts = Counts()
        let session = URLSession(configuration: .ephemeral, delegate: counts, delegateQueue: nil)
        let paths = ["/echo", "/echo", "/close/4000/enough", "/drop"]
        let tasks = (0..<500).map { session.webSocketTask(with: server.url(paths[$0 % paths.count])) }
        for task in tasks { task.resume() }
        try await counts.opened.wait(for: "all open") { $0 == tasks.count ? () : nil }
        // Each message is sent; the server sends it back, closes, or ends the connection.
        for task in tasks { counts.exchange("hello", over: task) }
        try await counts.results.wait(for: "all results") { results in
            results.values.reduce(0, +) == 2 * tasks.count ? () : nil
        }
        for (index, task) in tasks.enumerated() where index % paths.count < 2 {
            // One that waits when it ends.
            counts.exchange("again", over: task)
            if index % paths.count == 0 { task.cancel() } else { task.cancel(with: .normalClosure, reason: nil) }
        }
        session.finishTasksAndInvalidate()
        try await counts.isInvalid.wait()
        #expect(counts.ends.current == Dictionary(uniqueKeysWithValues: tasks.map { ($0.taskIdentifier, 1) }))
        try await counts.results.wait(for: "the last results") { results in
            results.values.reduce(0, +) == 3 * tasks.count ? () : nil
        }
        for (index, task) in tasks.enumerated() {
            #expect(counts.results.current[task.taskIdentifier] == (index % paths.count < 2 ? 4 : 2))
        }
    }
}
