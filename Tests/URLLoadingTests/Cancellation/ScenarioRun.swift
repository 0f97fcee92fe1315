import Foundation
import TestSupport
import URLLoading

/// One task of a scenario in its own session: its callbacks, and the planned stop.
final class ScenarioRun: Sendable {
    private struct State {
        /// Checkpoints before this belong to the scenario's preparation.
        var isBegun = false
        var checkpoints: [Checkpoint] = []
        var session: URLSession?
        var task: URLSessionTask?
        var caller: Task<Void, Never>?
        /// Whether the stop requested resume data.
        var isAsked = false
    }

    let number: Int
    let scenario: LoadScenario
    let servers: ScenarioServers
    let plan: StopPlan?
    let delegate = RecordingDownloadDelegate()
    /// The result of an awaited load. Recorded separately, because its order relative to callbacks is not defined.
    let outcomes = EventRecorder<Call>()
    /// The results of `cancel(byProducingResumeData:)`.
    let resumeData = EventRecorder<Data?>()
    /// With which a task was created that never started.
    let resumeDataLeft = EventRecorder<Data>()
    private let state = Watched(State())
    private let stopped = Signal("the stop")

    init(_ scenario: LoadScenario, _ number: Int, on servers: ScenarioServers, _ plan: StopPlan? = nil) {
        self.scenario = scenario
        self.number = number
        self.servers = servers
        self.plan = plan
    }

    var checkpoints: [Checkpoint] { state.current.checkpoints }
    var isStopped: Bool { stopped.isFired }
    var task: URLSessionTask? { state.current.task }

    /// The URL of a resource of the servers, for this run.
    func url(_ name: String, isSecure: Bool = false) -> URL {
        isSecure ? servers.secure.url("/\(name)/\(number)", host: "localhost") : servers.plain.url("/\(name)/\(number)")
    }

    /// Runs it to its end.
    func run() async throws {
        delegate.during = { [weak self] call, _, task in
            guard let self else { return }
            if let task { state.withValue { if $0.task == nil { $0.task = task } } }
            if call != .invalid { reached(call.kind) }
        }
        delegate.became = { [weak self] task in self?.became(task) }
        try await scenario.prepare(self)
        let session = URLSession(configuration: scenario.configuration(), delegate: delegate, delegateQueue: nil)
        state.withValue {
            $0.session = session
            $0.isBegun = true
        }
        servers.runs.withValue { $0[number] = self }
        switch scenario.start {
        case .task(let start):
            start(self, session)
            session.finishTasksAndInvalidate()
        case .call(let load): await call(load, session)
        }
        _ = try await delegate.callsUntilInvalid()
        if let plan, checkpoints.contains(plan.checkpoint) { try await stopped.wait() }
        if state.current.isAsked {
            _ = try await resumeData.waitFor(count: 1)
        }
    }

    /// The task was replaced by another one.
    func became(_ task: URLSessionTask) { state.withValue { $0.task = task } }

    private func call(_ load: @escaping LoadScenario.Load, _ session: URLSession) async {
        let isKnown = Signal("the caller")
        let caller = Task {
            try? await isKnown.wait()
            do {
                outcomes.record(.handled(try await load(self, session), nil, nil))
            } catch {
                outcomes.record(.handled(nil, nil, error.urlErrorCode ?? .unknown))
            }
        }
        state.withValue { $0.caller = caller }
        isKnown.fire()
        await caller.value
        session.finishTasksAndInvalidate()
    }

    /// Releases everything, to detect other references.
    func end() -> Weak {
        servers.runs.withValue { $0[number] = nil }
        return state.withValue { state in
            defer {
                state.session = nil
                state.task = nil
                state.caller = nil
            }
            return Weak(session: state.session, task: state.task)
        }
    }

    // MARK: Stopping

    /// A checkpoint of the server, at which the plan may close the connection.
    func serverReached(_ name: String) throws {
        let wasStopped = isStopped
        reached(name)
        if plan?.stop == .breakConnection, isStopped, !wasStopped { throw CancellationError() }
    }

    /// Records a checkpoint, and stops the task if the plan says so.
    func reached(_ name: String) {
        let checkpoint = state.withValue { state -> Checkpoint? in
            guard state.isBegun else { return nil }
            let checkpoint = Checkpoint(name: name, number: state.checkpoints.count { $0.name == name })
            state.checkpoints.append(checkpoint)
            return checkpoint
        }
        guard let plan, checkpoint == plan.checkpoint else { return }
        if plan.isWithin { stop(plan.stop) } else { DispatchQueue.global().async { self.stop(plan.stop) } }
    }

    private func stop(_ stop: StopMethod) {
        let (session, task, caller) = state.withValue { ($0.session, $0.task, $0.caller) }
        switch stop {
        case .cancel: task?.cancel()
        case .cancelForLater:
            switch task {
            case let download as URLSessionDownloadTask:
                state.withValue { $0.isAsked = true }
                download.cancel { self.resumeData.record($0) }
            case let upload as URLSessionUploadTask:
                state.withValue { $0.isAsked = true }
                upload.cancel { self.resumeData.record($0) }
            default: task?.cancel()
            }
        case .suspendAndCancel:
            task?.suspend()
            task?.cancel()
        case .invalidateSession: session?.invalidateAndCancel()
        case .cancelSwiftTask: if let caller { caller.cancel() } else { task?.cancel() }
        case .breakConnection: break
        }
        stopped.fire()
    }

    struct Weak: @unchecked Sendable {
        // Sendable: weak references are read and cleared atomically.
        weak var session: URLSession?
        weak var task: URLSessionTask?

        var isGone: Bool { session == nil && task == nil }
    }
}

// MARK: Judging

extension ScenarioRun {
    /// The callbacks and checkpoints of a run without a stop.
    struct Baseline: Sendable {
        let calls: [Call]
        let outcomes: [Call]
        let checkpoints: [Checkpoint]

        init(_ run: ScenarioRun) {
            calls = run.delegate.calls.events.joinedWithoutSent
            outcomes = run.outcomes.events
            checkpoints = run.checkpoints
        }
    }

    /// All violations.
    func faults(comparedTo baseline: Baseline) -> [String] {
        var faults = delegate.faults.events
        func expect(_ isTrue: Bool, _ fault: @autoclosure () -> String) { if !isTrue { faults.append(fault()) } }

        let isBroken = isStopped && plan?.stop == .breakConnection
        let all = delegate.calls.events
        let calls = all.joinedWithoutSent
        let ends = calls.filter(\.isEnd) + outcomes.events
        expect(ends.count == 1, "\(ends.count) ends")
        expect(all.firstIndex(of: .invalid) == all.count - 1, "calls after the session's end, or none of it")
        let before = calls.dropLast()
        // What is asked of a stream that was stopped is answered all the same.
        let last = before.last { !$0.isRefusal }
        expect(outcomes.count == 1 || last?.isEnd == true, "calls after the end")
        expect(task?.state == .completed, "the task is \(String(describing: task?.state))")

        let code = ends.first?.code
        expect(task?.error?.urlErrorCode == code, "the task's error is \(String(describing: task?.error))")
        if let code {
            expect(isStopped, "fails by itself")
            expect(code == (isBroken ? .networkConnectionLost : .cancelled), "ends with \(code.rawValue)")
            let reached = Array(before.filter { !$0.isEnd && !$0.isRefusal && $0.kind != "metrics" }).kinds
            expect(baseline.calls.kinds.starts(with: reached), "\(reached) is not how the path begins")
        } else if !isBroken {
            // What was sent again may have needed a stream once more.
            expect(calls == baseline.calls, "succeeds otherwise")
            expect(outcomes.events == baseline.outcomes, "gets \(outcomes.events)")
        }
        if let plan, isStopped {
            expect(code != nil || !plan.isWithin || !plan.checkpoint.awaitsReply, "goes on although it was stopped")
            expect(resumeData.count == (state.current.isAsked ? 1 : 0), "\(resumeData.count) times resume data")
        }
        return faults.isEmpty ? [] : faults + ["in \(all) \(outcomes.events) at \(checkpoints)"]
    }

    /// The files of resume data.
    var leftFiles: [String] {
        let produced =
            resumeData.events.compactMap { $0 } + resumeDataLeft.events
            + [(task?.error as? URLError)?.downloadTaskResumeData]
            .compactMap { $0 }
        return produced.compactMap { data in
            let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
            return list?["fileName"] as? String
        }
    }
}

extension Call {
    fileprivate var isEnd: Bool {
        switch self {
        case .completed, .handled: true
        default: false
        }
    }

    /// A read or write of a stream that was not performed.
    fileprivate var isRefusal: Bool {
        switch self {
        case .read(_, _, .some), .written(.some): true
        default: false
        }
    }

    fileprivate var code: URLError.Code? {
        switch self {
        case .completed(_, let code), .handled(_, _, let code): code
        default: nil
        }
    }
}

extension [Call] {
    /// Without events that depend on the kernel's segmentation of bodies.
    fileprivate var joinedWithoutSent: [Call] { withoutSent.joined }

    /// The kinds of callbacks, with repetitions merged.
    fileprivate var kinds: [String] {
        reduce(into: []) { kinds, call in if kinds.last != call.kind { kinds.append(call.kind) } }
    }
}
