import Foundation
import TestSupport
import Testing
import URLLoading

/// A session with one WebSocket task, whose callbacks and results are recorded on a queue of width 1.
struct WebSocketRun {
    let delegate: RecordingWebSocketDelegate
    let session: URLSession
    let task: URLSessionWebSocketTask

    init(
        _ url: URL, _ delegate: RecordingWebSocketDelegate = RecordingWebSocketDelegate(),
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) {
        self.init(delegate, configure) { $0.webSocketTask(with: url) }
    }

    init(
        _ delegate: RecordingWebSocketDelegate = RecordingWebSocketDelegate(),
        _ configure: (URLSessionConfiguration) -> Void = { _ in }, _ make: (URLSession) -> URLSessionWebSocketTask
    ) {
        let queue = OperationQueue(name: "calls", width: 1)
        delegate.queue = queue
        self.delegate = delegate
        session = URLSession(delegate, queue: queue, configure)
        task = make(session)
    }

    /// Resumes the task, and waits until it is open.
    func open(subprotocol: String? = nil) async throws {
        task.resume()
        try await delegate.calls.wait(for: .opened(task.taskIdentifier, subprotocol))
    }

    func receive() { delegate.receive(task) }

    /// Receives one message after the other until there are no more, as most programs do.
    func receiveAll() {
        task.receive { [self] result in
            delegate.calls.record(.result(RecordingWebSocketDelegate.text(of: result)))
            if case .success = result { receiveAll() }
        }
    }

    func send(_ text: String) { delegate.send(task, text) }
    func ping(_ name: String) { delegate.ping(task, as: name) }

    /// All callbacks and results after the session has become invalid, which it does when its tasks have ended.
    func end(sourceLocation: SourceLocation = #_sourceLocation) async throws -> [Call] {
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [], sourceLocation: sourceLocation)
        #expect(task.state == .completed, sourceLocation: sourceLocation)
        return calls
    }

    /// A message of a server on a connection of its own, by which the delegate queue and the loop have done what was
    /// due.
    func passTime() async throws {
        let other = try ScriptedServer.answering(.text("x"))
        defer { other.stop() }
        for _ in 0..<3 {
            let done = Signal("the other load")
            session.dataTask(with: other.url()) { _, _, _ in done.fire() }.resume()
            try await done.wait()
        }
    }
}

extension [Call] {
    /// Without the creation of tasks, and without those of other tasks.
    func ofWebSocket(_ task: Int = 1) -> [Call] { filter { $0.task == nil || $0.task == task } }
}

extension Data {
    init(text: String) { self.init(text.utf8) }
}
