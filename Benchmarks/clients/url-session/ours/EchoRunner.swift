import Foundation
import URLLoading

/// Messages that a server sends back. Each connection keeps its share of `concurrency` messages on their way, and has
/// one call of `receive` at a time.
final class EchoRunner: @unchecked Sendable {
    // Sendable: after `run` has started the tasks, the handlers use the counters, on the serial delegate queue.

    private let workload: Workload
    private let payload: Data
    private let finished = DispatchSemaphore(value: 0)
    private var started = 0
    private var totals = Totals()

    init(_ workload: Workload) {
        self.workload = workload
        payload = Data(count: workload.body)
    }

    private static func tasks(_ workload: Workload) -> [URLSessionWebSocketTask] {
        guard let url = URL(string: workload.url) else { return [] }
        let session = URLSession(configuration: .default)
        return (0..<workload.connections).map { _ in session.webSocketTask(with: url) }
    }

    private var window: Int { workload.concurrency / workload.connections }

    // MARK: Completion handlers

    func run() -> Totals {
        let tasks = Self.tasks(workload)
        // Before a task is resumed, its operations wait, and no handler is called.
        for task in tasks {
            for _ in 0..<window { send(on: task) }
            receive(on: task)
        }
        for task in tasks { task.resume() }
        finished.wait()
        return totals
    }

    private func send(on task: URLSessionWebSocketTask) {
        guard started < workload.requests else { return }
        started += 1
        task.send(.data(payload)) { [self] error in if error != nil { fail() } }
    }

    private func receive(on task: URLSessionWebSocketTask) {
        task.receive { [self] result in
            guard case .success(.data(let message)) = result else { return fail() }
            totals.count(message, of: workload)
            if totals.requests == workload.requests {
                finished.signal()
            } else {
                send(on: task)
                receive(on: task)
            }
        }
    }

    private func fail() {
        totals.errors += 1
        finished.signal()
    }

    // MARK: Swift concurrency

    static func runAsync(_ workload: Workload) async -> Totals {
        let tasks = tasks(workload)
        return await withTaskGroup(of: Totals.self) { group in
            for (index, task) in tasks.enumerated() {
                let share = (workload.requests + index) / tasks.count
                group.addTask { await EchoRunner(workload).exchange(share, on: task) }
            }
            var all = Totals()
            for await part in group {
                all.requests += part.requests
                all.bytes += part.bytes
                all.errors += part.errors
            }
            return all
        }
    }

    private func exchange(_ count: Int, on task: URLSessionWebSocketTask) async -> Totals {
        var totals = Totals()
        task.resume()
        do {
            var sent = 0
            while totals.requests < count {
                while sent < count, sent - totals.requests < window {
                    sent += 1
                    try await task.send(.data(payload))
                }
                if case .data(let message) = try await task.receive() { totals.count(message, of: workload) }
            }
        } catch {
            totals.errors += 1
        }
        return totals
    }
}

extension Totals {
    fileprivate mutating func count(_ message: Data, of workload: Workload) {
        requests += 1
        bytes += message.count
        if message.count != workload.body { errors += 1 }
    }
}
