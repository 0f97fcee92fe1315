import Dispatch
import Foundation
import TestSupport
import Testing
import URLLoading

/// The order of callbacks and the program's operations on the delegate queue.
@Suite(.leavesNothing) struct DeliveryOrderTests {
    enum Kind: CaseIterable, Sendable {
        case serial
        case underlying
        /// With a serial underlying queue, which alone determines the order.
        case underlyingOfAnyWidth
        case main
        /// The session's own queue.
        case sessionsOwn

        /// - Parameter below: Must be retained by the caller, because an operation queue does not retain its underlying
        ///   queue.
        func session(_ delegate: any URLSessionDelegate, over below: DispatchQueue) -> URLSession {
            self == .sessionsOwn ? URLSession(delegate) : URLSession(delegate, queue: queue(over: below))
        }

        private func queue(over below: DispatchQueue) -> OperationQueue {
            let queue = OperationQueue()
            switch self {
            case .serial: queue.maxConcurrentOperationCount = 1
            case .underlying:
                queue.maxConcurrentOperationCount = 1
                queue.underlyingQueue = below
            case .underlyingOfAnyWidth: queue.underlyingQueue = below
            case .main, .sessionsOwn: return .main
            }
            return queue
        }
    }

    private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
        let marked = Watched<Set<Int>>([])
        let ended = Watched(0)
        /// Ended before the operation that was enqueued before they were begun.
        let early = Watched<[Int]>([])

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let id = task.taskIdentifier
            if !marked.current.contains(id) { early.withValue { $0.append(id) } }
            ended.withValue { $0 += 1 }
        }
    }

    // S-76, T-64: 5,000 tasks that end at once
    @Test("no call overtakes an operation that was enqueued before its cause", arguments: Kind.allCases)
    func noCallOvertakesAnOperation(kind: Kind) async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let delegate = Delegate()
        let below = DispatchQueue(label: "delegate")
        defer { withExtendedLifetime(below) {} }
        let session = kind.session(delegate, over: below)
        let queue = session.delegateQueue
        let rounds = 5_000
        for _ in 0..<rounds {
            queue.addOperation {
                let task = session.dataTask(with: url)
                queue.addOperation { _ = delegate.marked.withValue { $0.insert(task.taskIdentifier) } }
                task.resume()
                task.cancel()
            }
        }
        try await delegate.ended.wait(for: "all ends", within: .seconds(60)) { $0 == rounds ? () : nil }
        #expect(delegate.early.current == [])
        session.invalidateAndCancel()
    }

    // S-76, T-65: what comes while an operation waits is delivered together, in order
    @Test("events that wait for a busy queue need few operations") func whatWaitsNeedsFewOperations() async throws {
        let bytes = [UInt8](repeating: 120, count: 4_000)
        let server = try ScriptedServer.answering(
            .init(body: .chunks(Array(repeating: Array(bytes[..<40]), count: 100), trailers: [])))
        defer { server.stop() }
        let queue = SuspendedQueue(width: 1)
        let delegate = RecordingDelegate()
        let session = URLSession(delegate, queue: queue)
        session.dataTask(with: server.url()).resume()
        try await queue.hasOperation.wait()
        try await server.waitForRequests(1)
        queue.isSuspended = false
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls == [
                .created(1), .response(1, 200), .data(1, String(decoding: bytes, as: UTF8.self)), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }
}
