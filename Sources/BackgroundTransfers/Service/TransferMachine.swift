package import LoadingPipeline

/// The life of a background transfer: what happens in each phase on each input. It has no clock, socket or file.
///
/// Times are seconds since 1970.
package struct TransferMachine: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        /// Suspended by the program, or paused by an administrator.
        case suspended
        case waiting(Wait)
        /// Waits for a place in the schedule.
        case queued
        case running
        /// The load is being stopped, and has not ended yet.
        case stopping
        case ended
    }

    package enum Wait: Equatable, Sendable {
        /// `earliestBeginDate` (BG-17).
        case date
        /// The delegate's decision on a delayed task.
        case decision
        /// Power or an unmetered network, for a discretionary transfer (BG-16).
        case condition
        /// The next attempt.
        case retry
    }

    package enum Input: Equatable, Sendable {
        case resume
        case suspend
        case pause
        case unpause
        /// The reason is a value of `NSURLErrorBackgroundTaskCancelledReasonKey`, nil if the program cancels.
        case cancel(reason: Int?)
        /// The service cannot keep the transfer.
        case fail(TransferFailure)
        case setEarliestBegin(Double?)
        /// The delegate's decision, with a new request.
        case decide(TransferRequest?)
        /// A time of `wakeUp` has passed.
        case timePassed
        /// The clock of the machine was set, by that many seconds: what lasts until a date is not longer or shorter for
        /// that.
        case clockSet(MachineClock, by: Double)
        case conditionChanged(isMet: Bool)
        case networkChanged
        /// The schedule has a place.
        case place
        case response(TransferHead, TransferProgress)
        case progress(TransferProgress)
        /// The point from which another attempt could resume, while the load runs.
        case checkpoint(TransferResumption)
        /// The load has ended.
        case finished(file: String)
        case failed(TransferFailure, TransferResumption?, jitter: Double)
    }

    package enum Action: Equatable, Sendable {
        /// The record has changed.
        case save
        case enqueue
        /// Gives up the place in the schedule, or in its queue.
        case leaveSchedule
        case start(TransferRequest)
        /// Cancels the load, which then reports `failed` or `finished`.
        case stop
        /// The load is a repetition: its counters start with these.
        case restarted(TransferProgress)
        /// The delegate has to decide.
        case due
        /// The file was complete when the transfer had been cancelled.
        case removeFile(String)
        /// The record does not need the file any more.
        case dropFile(String)
        case end(TransferEnd.Outcome)
    }

    package private(set) var record: TransferRecord
    package private(set) var phase: Phase
    /// Whether a discretionary transfer may run now.
    private var isConditionMet: Bool
    private var retryAt: Double?
    /// The date on which the delegate was asked. It has come, also if the clock is set back while the program decides.
    private var dueDate: Double?
    /// The code of the error after which a retry waits.
    package private(set) var lastFailure = 0

    /// A new transfer, or one from the journal. `timePassed` follows, which begins what is due.
    package init(_ record: TransferRecord, isConditionMet: Bool) {
        self.record = record
        self.isConditionMet = isConditionMet
        phase = record.end != nil ? .ended : .suspended
    }

    /// The next time at which `timePassed` is due; nil while nothing is awaited.
    package var wakeUp: Double? {
        switch phase {
        case .waiting(.date): earliest(record.description.request.earliestBegin, deadline)
        case .waiting(.retry): earliest(retryAt, deadline)
        case .waiting, .queued: deadline
        // A load has its own timer.
        case .suspended, .running, .stopping, .ended: nil
        }
    }

    private func earliest(_ left: Double?, _ right: Double?) -> Double? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    /// When the resource timeout ends the transfer (BG-10).
    private var deadline: Double? {
        guard let started = record.started, let limit = record.description.resourceTimeout else { return nil }
        return started + limit
    }

    package var mustWaitForConditions: Bool { record.description.request.isDiscretionary }

    // MARK: Inputs

    package mutating func handle(_ input: Input, now: Double) -> [Action] {
        // While the file is being written to disk the record has no end: another process would go on as the record says
        // then.
        if record.end != nil { return [] }
        let actions = react(to: input, now)
        for case .end(let outcome) in actions { record.note(.ended(code: outcome.code), at: now) }
        return actions
    }

    private mutating func react(to input: Input, _ now: Double) -> [Action] {
        switch input {
        case .resume:
            guard record.isSuspended else { return [] }
            record.isSuspended = false
            record.started = record.started ?? now
            record.note(.resumed, at: now)
            return [.save] + settle(now)
        case .suspend:
            if record.isSuspended { return [] }
            record.isSuspended = true
            record.note(.suspended, at: now)
            return [.save] + settle(now)
        case .pause, .unpause:
            let isPaused = input == .pause
            if record.isPaused == isPaused { return [] }
            record.isPaused = isPaused
            return [.save] + settle(now)
        case .cancel(let reason): return cancel(reason.map { .bySystem(reason: $0) } ?? .byProgram)
        case .fail(let failure): return cancel(.byService(failure))
        case .setEarliestBegin(let date):
            guard record.description.request.earliestBegin != date else { return [] }
            record.description.request.earliestBegin = date
            return [.save] + (isActive ? [] : settle(now))
        case .decide(let request):
            // Also while it is suspended, or it would be asked for again.
            guard record.description.asksWhenDue, !record.isDecided, !isActive, isDelayOver(now) else { return [] }
            record.isDecided = true
            var actions: [Action] = [.save]
            if let request, let body = replaceRequest(by: request) { actions.append(.dropFile(body)) }
            return actions + settle(now)
        case .timePassed: return isActive ? [] : settle(now)
        case .clockSet(let clock, let change):
            retryAt = retryAt.map { $0 + change }
            let hasChanged = record.follow(clock)
            return (hasChanged ? [.save] : []) + (isActive ? [] : settle(now))
        case .conditionChanged(let isMet):
            isConditionMet = isMet
            return settle(now)
        case .networkChanged:
            guard phase == .waiting(.retry) else { return [] }
            retryAt = nil
            return settle(now)
        case .place:
            guard phase == .queued else { return [] }
            if let deadline, deadline <= now { return [.leaveSchedule] + timeOut() }
            return start(now)
        case .response(let head, let progress):
            guard isActive else { return [] }
            record.head = head
            note(progress)
            return []
        case .progress(let progress):
            if isActive { note(progress) }
            return []
        case .checkpoint(let resumption):
            guard isActive, record.resumption != resumption else { return [] }
            record.resumption = resumption
            return [.save]
        case .finished(let file):
            guard isActive else { return [] }
            guard let cancellation = record.cancellation else { return [.leaveSchedule] + end(.file(file)) }
            return [.leaveSchedule, .removeFile(file)] + end(for: cancellation, nil)
        case .failed(let failure, let resumption, let jitter):
            guard isActive else { return [] }
            return [.leaveSchedule] + attemptFailed(failure, resumption, jitter, now)
        }
    }

    /// Sets what does not affect the transfer's life.
    package mutating func update(_ change: (inout TransferRecord) -> Void) { change(&record) }

    /// Whether there is a load.
    private var isActive: Bool { phase == .running || phase == .stopping }

    // MARK: Transitions

    /// Goes to the phase that the record and the time demand, unless a load has to end first.
    private mutating func settle(_ now: Double) -> [Action] {
        let next = phaseDue(now)
        switch (phase, next) {
        case (.ended, _), (.stopping, _), (.running, .queued): return []
        case (.running, .suspended), (.running, .waiting(.condition)):
            phase = .stopping
            return [.stop]
        case (.running, _): return []
        case (_, .ended):
            return (phase == .queued ? [.leaveSchedule] : [])
                + (record.cancellation.map { end(for: $0, record.resumption) } ?? timeOut())
        default: break
        }
        if next == phase { return [] }
        var actions: [Action] = phase == .queued ? [.leaveSchedule] : []
        phase = next
        if next == .queued { actions.append(.enqueue) }
        if next == .waiting(.decision) {
            dueDate = record.description.request.earliestBegin
            actions.append(.due)
        }
        return actions
    }

    /// The phase of a transfer without a load.
    private func phaseDue(_ now: Double) -> Phase {
        // By a process that was killed before the load had stopped.
        if record.cancellation != nil { return .ended }
        if record.isSuspended || record.isPaused { return .suspended }
        if let deadline, deadline <= now { return .ended }
        let request = record.description.request
        if request.earliestBegin != nil, !record.isDecided {
            if !isDelayOver(now) { return .waiting(.date) }
            if record.description.asksWhenDue { return .waiting(.decision) }
        }
        if let retryAt, retryAt > now { return .waiting(.retry) }
        if request.isDiscretionary, !isConditionMet { return .waiting(.condition) }
        return .queued
    }

    private func isDelayOver(_ now: Double) -> Bool {
        record.description.request.earliestBegin.map { $0 <= now || $0 == dueDate } ?? false
    }

    private mutating func start(_ now: Double) -> [Action] {
        phase = .running
        retryAt = nil
        var request = record.description.request
        request.resumption = record.resumption
        if let deadline { request.totalTimeout = deadline - now }
        var actions: [Action] = []
        var offset: Int64 = 0
        if case .download(let part)? = request.resumption { offset = part.bytesReceived }
        record.note(.began(offset: offset), at: now)
        if record.progress != TransferProgress() || record.failures > 0 {
            var kept = TransferProgress()
            kept.received = offset
            record.progress = kept
            actions.append(.restarted(kept))
        }
        return actions + [.start(request)]
    }

    private mutating func note(_ progress: TransferProgress) {
        record.progress = progress
        // Only new ground counts: a server that always fails at the same place is not asked again at once.
        let moved = progress.received &+ progress.sent
        if moved > record.furthest {
            record.furthest = moved
            record.failures = 0
        }
    }

    private mutating func attemptFailed(
        _ failure: TransferFailure, _ resumption: TransferResumption?, _ jitter: Double, _ now: Double
    ) -> [Action] {
        // A part of which nothing is known is of no use.
        record.resumption = resumption
        if let cancellation = record.cancellation { return end(for: cancellation, resumption) }
        let wasStopping = phase == .stopping
        phase = .suspended
        if wasStopping { return [.save] + settleFromRest(now) }
        guard RetryPolicy.isTransient(failure.code), deadline.map({ now < $0 }) ?? true else {
            return end(.failed(failure, resumption))
        }
        record.failures += 1
        record.note(.failed(code: failure.code), at: now)
        lastFailure = failure.code
        retryAt = now + RetryPolicy.delay(after: record.failures, jitter: jitter)
        return [.save] + settleFromRest(now)
    }

    /// Like `settle`, for a load that has just ended.
    private mutating func settleFromRest(_ now: Double) -> [Action] {
        let next = phaseDue(now)
        if next == .suspended { return [] }
        return settle(now)
    }

    private mutating func cancel(_ cancellation: TransferRecord.Cancellation) -> [Action] {
        if record.cancellation != nil { return [] }
        record.cancellation = cancellation
        switch phase {
        case .running:
            phase = .stopping
            return [.save, .stop]
        case .stopping, .ended: return [.save]
        case .queued: return [.leaveSchedule] + end(for: cancellation, record.resumption)
        case .suspended, .waiting: return end(for: cancellation, record.resumption)
        }
    }

    /// Another request for the same task: what the service keeps for the task stays, since a program does not know it.
    /// Returns the file of the old body if it is not needed any more.
    private mutating func replaceRequest(by request: TransferRequest) -> String? {
        let old = record.description.request
        var new = request
        new.identifier = old.identifier
        new.folder = old.folder
        new.isUpload = old.isUpload
        // The file of an upload is its body, whatever the request has (T-53).
        if record.description.kind == .upload || new.archive == nil { new.bodyFile = old.bodyFile }
        record.description.request = new
        return old.bodyFile == new.bodyFile ? nil : old.bodyFile
    }

    private mutating func timeOut() -> [Action] {
        end(.failed(TransferFailure(code: -1001), record.resumption))
    }

    private mutating func end(
        for cancellation: TransferRecord.Cancellation, _ resumption: TransferResumption?
    ) -> [Action] {
        switch cancellation {
        case .byProgram: end(.failed(TransferFailure(code: -999), resumption))
        case .bySystem(let reason): end(.cancelledBySystem(reason: reason))
        case .byService(let failure): end(.failed(failure, resumption))
        }
    }

    private mutating func end(_ outcome: TransferEnd.Outcome) -> [Action] {
        phase = .ended
        return [.end(outcome)]
    }
}

extension TransferEnd.Outcome {
    /// A code of `NSURLErrorDomain`; nil for success.
    package var code: Int? {
        switch self {
        case .file: nil
        case .failed(let failure, _): failure.code
        case .cancelledBySystem: -999
        }
    }
}
