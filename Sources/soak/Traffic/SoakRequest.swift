import Foundation
import URLLoading

/// A running request: checks its data and counts its completions.
final class SoakRequest: @unchecked Sendable, CustomStringConvertible {
    // Sendable because the mutable state is guarded by `lock`.
    let plan: Plan
    let session: SessionRecord
    private let expectation: Expectation
    private let ledger: Ledger
    private let ticker: Ticker
    private let lock = NSLock()
    private weak var task: URLSessionTask?
    private var receivedCount = 0
    private var isDamaged = false
    private var endCount = 0
    private let limitsTime: Bool

    init(
        _ plan: Plan, in session: SessionRecord, asksDelegate: Bool, limitsTime: Bool, ledger: Ledger, ticker: Ticker
    ) {
        self.plan = plan
        self.session = session
        self.ledger = ledger
        self.ticker = ticker
        self.limitsTime = limitsTime
        expectation = Expectation(plan, asksDelegate: asksDelegate)
    }

    var description: String {
        lock.lock()
        let (task, ends, count) = (task, endCount, receivedCount)
        lock.unlock()
        let state = task.map { "\($0.state)" } ?? "no task"
        return "\(plan); session \(session.number), \(state), \(count) bytes, \(ends) ends"
    }

    // MARK: The task

    func created(_ task: URLSessionTask) {
        let isNew = lock.withLock {
            defer { self.task = task }
            return self.task == nil
        }
        guard isNew else { return }
        ledger.watch(task) { [plan] in "the task of \(plan)" }
    }

    var hasTask: Bool { lock.withLock { task != nil || endCount > 0 } }

    /// Applies the disturbance of the plan to a started task. `cancel` cancels it by the means of its form.
    func interfere(cancel: @escaping @Sendable () -> Void) {
        switch plan.interference {
        case .cancelAtOnce: cancel()
        case .cancel(let after): ticker.after(after, cancel)
        case .suspendAtOnce(let time): suspend(for: time)
        case .suspend(let after, let time): ticker.after(after) { self.suspend(for: time) }
        default: break
        }
    }

    private func suspend(for time: Int) {
        guard let task = lock.withLock({ self.task }) else { return }
        task.suspend()
        ticker.after(time) { task.resume() }
    }

    private func cancelTask() { lock.withLock { task }?.cancel() }

    // MARK: From the delegate

    func received(_ response: URLResponse, answer: @escaping @Sendable (URLSession.ResponseDisposition) -> Void) {
        checkIsLive("a response")
        let isCancelled = plan.interference == .cancelAtResponse
        if isCancelled, plan.index % 2 == 0 { cancelTask() }
        let disposition: URLSession.ResponseDisposition = isCancelled && plan.index % 2 == 1 ? .cancel : .allow
        if let time = plan.deliberation { ticker.after(time) { answer(disposition) } } else { answer(disposition) }
    }

    func redirected(to request: URLRequest, answer: @escaping @Sendable (URLRequest?) -> Void) {
        checkIsLive("a redirect")
        let next = plan.refusesRedirects ? nil : request
        if let time = plan.deliberation { ticker.after(time) { answer(next) } } else { answer(next) }
    }

    func received(_ data: Data) {
        checkIsLive("data")
        let isFirst = lock.withLock {
            if expectation.isPattern, !BodyPattern.matches(data, at: receivedCount) { isDamaged = true }
            receivedCount += data.count
            return receivedCount == data.count
        }
        if isFirst, plan.interference == .cancelAtData { cancelTask() }
    }

    /// A byte of an asynchronous reader. Returns false when the reader should stop.
    func received(_ byte: UInt8) -> Bool {
        let count = lock.withLock {
            if expectation.isPattern, !BodyPattern.isByte(byte, at: receivedCount) { isDamaged = true }
            receivedCount += 1
            return receivedCount
        }
        if count == 1, plan.interference == .cancelAtData { cancelTask() }
        if case .readSome(let most) = plan.interference { return count < most }
        return true
    }

    private func checkIsLive(_ what: String) {
        if lock.withLock({ endCount }) > 0 { ledger.found("\(what) came after the end of \(self)") }
    }

    // MARK: Ends

    /// The completion that the library reported.
    func ended(_ error: (any Error)?) {
        let count = lock.withLock {
            endCount += 1
            return endCount
        }
        // A task that is never resumed ends with its session.
        if count == 2, plan.interference == .neverResume { return }
        guard count == 1 else { return ledger.found("End number \(count) of \(self)") }
        // An asynchronous caller may learn of the end after the session has ended.
        if !plan.isAsync { session.taskEnded() }
        let outcome = judge(error)
        ledger.ended(self, as: outcome)
    }

    /// The reader has stopped waiting for this request.
    func abandoned() {
        lock.withLock { endCount += 1 }
        if !plan.isAsync { session.taskEnded() }
        ledger.ended(self, as: "abandoned")
    }

    private func judge(_ error: (any Error)?) -> String {
        guard let error else {
            lock.lock()
            let (count, isDamaged) = (receivedCount, isDamaged)
            lock.unlock()
            if expectation.bodySize == nil {
                ledger.found("Success, and none was possible: \(self)")
            } else if count != expectation.bodySize || isDamaged {
                ledger.found("A wrong body of \(count) bytes: \(self)")
            }
            return "success"
        }
        guard let code = (error as? URLError)?.code else {
            ledger.found("\(error), which is no URLError: \(self)")
            return "other error"
        }
        let isExpected =
            expectation.errors.contains(code) || code == .cancelled && session.isCancelled
            || code == .timedOut && limitsTime
        if !isExpected { ledger.found("\(Self.name(code)): \(self)") }
        return Self.name(code)
    }

    private static func name(_ code: URLError.Code) -> String {
        switch code {
        case .cancelled: "cancelled"
        case .timedOut: "timedOut"
        case .networkConnectionLost: "networkConnectionLost"
        case .cannotConnectToHost: "cannotConnectToHost"
        case .cannotParseResponse: "cannotParseResponse"
        case .secureConnectionFailed: "secureConnectionFailed"
        default: "error \(code.rawValue)"
        }
    }
}
