import Foundation
import Synchronization
import URLLoading

/// A session with random configuration, delegate and queue, and its tasks. Used by the driving thread.
final class SoakSession {
    private var session: URLSession?
    private let queue: OperationQueue?
    private let requests: RequestIndex?
    private let record: SessionRecord
    private let kind: DelegateKind
    private let limitsTime: Bool
    private let ports: Ports
    private let ledger: Ledger
    private let ticker: Ticker
    private let uncreated = UncreatedCount()
    private(set) var quota: Int
    private var random: SeededGenerator

    private enum DelegateKind: CaseIterable {
        case none
        case minimal
        case full
    }

    init(number: Int, seed: UInt64, ports: Ports, ledger: Ledger, ticker: Ticker) {
        random = SeededGenerator(seed: ~seed, series: number)
        self.ports = ports
        self.ledger = ledger
        self.ticker = ticker
        quota = random.pick([1, 5, 50, 200, 500])
        kind = random.pick(DelegateKind.allCases)
        record = SessionRecord(number: number, hasDelegate: kind != .none)
        limitsTime = random.chance(5)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = random.pick([1, 2, 6, 6, 6, 50])
        if limitsTime { configuration.timeoutIntervalForResource = Double(random.number(20...500)) / 1000 }
        queue = random.chance(50) ? OperationQueue() : nil
        queue?.maxConcurrentOperationCount = random.chance(70) ? 1 : 4
        let delegate: (any URLSessionDelegate)?
        switch kind {
        case .none:
            (delegate, requests) = (nil, nil)
        case .minimal:
            let minimal = MinimalDelegate(record)
            (delegate, requests) = (minimal, minimal.requests)
        case .full:
            let full = FullDelegate(record)
            (delegate, requests) = (full, full.requests)
        }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
        self.session = session
        ledger.add(record)
        ledger.watch(session) { "session \(number)" }
        if let delegate { ledger.watch(delegate) { "the delegate of session \(number)" } }
    }

    // MARK: Starting

    func start(_ index: Int, seed: UInt64, window: Int) {
        guard let session else { return }
        quota -= 1
        let forms = kind == .none ? Plan.Form.allCases.filter { $0 != .delegate } : Plan.Form.allCases
        let plan = Plan(index: index, seed: seed, forms: forms)
        let asksDelegate = kind == .full
        let request = SoakRequest(
            plan, in: record, asksDelegate: asksDelegate, limitsTime: limitsTime, ledger: ledger, ticker: ticker)
        requests?.add(request)
        if !plan.isAsync { record.taskBegan() }
        ledger.begin(request, window: window)
        guard let httpRequest = urlRequest(plan) else { return ledger.found("No URL for \(plan)") }
        switch plan.form {
        case .handler:
            start(
                session.dataTask(with: httpRequest) { data, _, error in
                    if let data { request.received(data) }
                    request.ended(error)
                }, request)
        case .delegate:
            start(session.dataTask(with: httpRequest), request)
        case .taskDelegate:
            let task = session.dataTask(with: httpRequest)
            task.delegate = TaskDelegate(request)
            start(task, request)
        case .data, .bytes:
            startAsync(httpRequest, request, in: session)
        }
        if random.chance(2) { disturb(session) }
    }

    private func urlRequest(_ plan: Plan) -> URLRequest? {
        let base =
            switch plan.target {
            case .plain: "http://127.0.0.1:\(ports.plain)"
            case .secure: "https://127.0.0.1:\(ports.secure)"
            case .named: "http://localhost:\(ports.plain)"
            case .resetting: "http://127.0.0.1:\(ports.resetting)"
            case .insecure: "https://127.0.0.1:\(ports.insecure)"
            case .refusing: "http://127.0.0.1:\(ports.refusing)"
            }
        guard let url = URL(string: base + plan.answer.path) else { return nil }
        var request = URLRequest(url: url)
        request.setValue("\(plan.index)", forHTTPHeaderField: RequestIndex.field)
        if let size = plan.uploadSize {
            request.httpMethod = "POST"
            request.httpBody = Data(count: size)
        }
        if let timeout = plan.timeout { request.timeoutInterval = timeout }
        return request
    }

    private func start(_ task: URLSessionDataTask, _ request: SoakRequest) {
        request.created(task)
        task.priority = request.plan.priority
        if request.plan.wantsWholeBody { task.prefersIncrementalDelivery = false }
        switch request.plan.interference {
        case .neverResume: return request.abandoned()
        case .holdAndCancel(let time): return ticker.after(time) { task.cancel() }
        case .cancelBeforeResume: task.cancel()
        default: break
        }
        task.resume()
        request.interfere { task.cancel() }
    }

    private func startAsync(_ httpRequest: URLRequest, _ request: SoakRequest, in session: URLSession) {
        let plan = request.plan
        let taskDelegate = plan.deliberation == nil ? nil : TaskDelegate(request)
        let uncreated = uncreated
        uncreated.add(request)
        let work = Task {
            if plan.interference == .cancelBeforeResume {
                withUnsafeCurrentTask { $0?.cancel() }
            }
            do {
                if plan.form == .data {
                    let (data, _) = try await session.data(for: httpRequest, delegate: taskDelegate)
                    request.received(data)
                    request.ended(nil)
                } else if try await read(httpRequest, request, session, taskDelegate) {
                    request.ended(nil)
                } else {
                    request.abandoned()
                }
            } catch {
                request.ended(error)
            }
            uncreated.remove(request)
        }
        request.interfere { work.cancel() }
    }

    /// Invalidates or releases the session while its tasks run.
    func retire() {
        guard let session else { return }
        self.session = nil
        // An asynchronous call that has not created its task yet must not find an invalid session.
        guard uncreated.waitForNone(), !random.chance(20) else { return record.end(.dropped) }
        if random.chance(50) {
            record.end(.finished)
            session.finishTasksAndInvalidate()
        } else {
            record.end(.cancelled)
            if random.chance(50) {
                session.invalidateAndCancel()
            } else {
                ticker.after(random.number(0...10)) { session.invalidateAndCancel() }
            }
        }
    }

    /// Another operation on a running session.
    private func disturb(_ session: URLSession) {
        switch random.number(0...3) {
        case 0:
            ledger.expectCall()
            session.flush { [ledger] in ledger.gotCall() }
        case 1:
            ledger.expectCall()
            session.getAllTasks { [ledger] _ in ledger.gotCall() }
        case 2:
            _ = session.delegateQueue.maxConcurrentOperationCount
        default:
            guard let queue else { return }
            queue.isSuspended = true
            ticker.after(random.number(0...20)) { queue.isSuspended = false }
        }
    }
}

/// Returns false if the reader stopped early.
private func read(
    _ httpRequest: URLRequest, _ request: SoakRequest, _ session: URLSession, _ taskDelegate: TaskDelegate?
) async throws -> Bool {
    let (bytes, _) = try await session.bytes(for: httpRequest, delegate: taskDelegate)
    request.created(bytes.task)
    if request.plan.interference == .cancelAtResponse { bytes.task.cancel() }
    if request.plan.interference == .readSome(0) { return false }
    for try await byte in bytes where !request.received(byte) { return false }
    return true
}
