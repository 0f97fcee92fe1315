import Foundation

/// Tracks living objects and completed requests. Its findings are the result of the run.
final class Ledger: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `condition`.
    private let condition = NSCondition()
    private var live: [Int: SoakRequest] = [:]
    private var sessions: [Int: SessionRecord] = [:]
    private var watched: [WeakObject] = []
    private var pendingCalls = 0
    private var ends: [String: Int] = [:]
    private var findings: [String] = []
    private var progress = DispatchTime.now()
    private(set) var startCount = 0

    private struct WeakObject {
        weak var object: AnyObject?
        let what: @Sendable () -> String
    }

    /// The number of findings that are printed. Further ones are only counted.
    private static let mostFindings = 50

    // MARK: Requests

    /// Waits until fewer than `window` requests are running.
    func begin(_ request: SoakRequest, window: Int) {
        condition.lock()
        while live.count >= window { condition.wait() }
        live[request.plan.index] = request
        startCount += 1
        progress = .now()
        condition.unlock()
    }

    func ended(_ request: SoakRequest, as outcome: String) {
        condition.lock()
        live[request.plan.index] = nil
        ends[outcome, default: 0] += 1
        progress = .now()
        condition.broadcast()
        condition.unlock()
    }

    var liveCount: Int { condition.withLock { live.count } }

    func waitUntilIdle() {
        condition.lock()
        while !live.isEmpty || pendingCalls > 0 { condition.wait() }
        condition.unlock()
    }

    // MARK: Callbacks that must occur once

    func expectCall() {
        condition.withLock { pendingCalls += 1 }
    }

    func gotCall() {
        condition.lock()
        pendingCalls -= 1
        if pendingCalls < 0 { findings.append("A completion handler of a session was called twice.") }
        condition.broadcast()
        condition.unlock()
    }

    // MARK: Sessions and objects

    func add(_ session: SessionRecord) {
        condition.withLock { sessions[session.number] = session }
    }

    /// Checks at the next rest that the object was deallocated.
    func watch(_ object: AnyObject, _ what: @escaping @Sendable () -> String) {
        condition.withLock { watched.append(WeakObject(object: object, what: what)) }
    }

    /// The watched objects that still exist.
    var survivors: [String] {
        condition.withLock { watched.filter { $0.object != nil }.map { $0.what() } }
    }

    func closeAccounts() {
        condition.lock()
        let sessions = sessions.values.sorted { $0.number < $1.number }
        let survivors = watched.filter { $0.object != nil }.map { $0.what() }
        self.sessions = [:]
        watched = []
        condition.unlock()
        for session in sessions { if let fault = session.fault { found(fault) } }
        for survivor in survivors { found("Still alive: \(survivor)") }
    }

    // MARK: Findings

    func found(_ finding: String) {
        condition.lock()
        findings.append(finding)
        let count = findings.count
        condition.unlock()
        if count <= Self.mostFindings { say("FOUND: \(finding)") }
    }

    var findingCount: Int { condition.withLock { findings.count } }

    var endCounts: [(outcome: String, count: Int)] {
        condition.withLock { ends.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.map { ($0.key, $0.value) } }
    }

    /// Seconds since the last start or end of a request; nil if none is running.
    var silence: Double? {
        condition.withLock {
            guard !live.isEmpty || pendingCalls > 0 else { return nil }
            return Double(DispatchTime.now().uptimeNanoseconds - progress.uptimeNanoseconds) / 1e9
        }
    }

    var liveDescriptions: [String] {
        condition.withLock {
            live.values.sorted { $0.plan.index < $1.plan.index }.map { $0.description }
                + (pendingCalls > 0 ? ["\(pendingCalls) calls of session completion handlers"] : [])
        }
    }
}
