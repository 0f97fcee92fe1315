import CSimulation
import Foundation
import URLLoading

/// A life of the program that has a background session, in a process of its own. It goes on where the last one was
/// killed.
final class BackgroundProgram: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.
    private let plan: BackgroundPlan
    private let lock = NSCondition()
    /// What was noted in earlier lives.
    private let before: [BackgroundRecords.Record]
    private let start = simulation_now()
    private var made: Set<Int> = []
    /// In any life, and in this one.
    private var reported: Set<Int> = [], reportedNow: Set<Int> = []
    /// Had ended before this life, as it is known, and the end was not reported yet.
    private var waiting: Set<Int> = []
    /// Those whose file was delivered in this life.
    private var files: Set<Int> = []
    /// `urlSessionDidFinishEvents` was called.
    private var isReplayed = false
    private var isInvalid = false
    /// To be called when the events are handled that the program was launched for. Set before there is a session.
    private var eventsAreHandled: (@Sendable () -> Void)?

    init(_ plan: BackgroundPlan) {
        self.plan = plan
        before = BackgroundRecords.all
    }

    func run() -> Never {
        BackgroundRecords.note(.programBegins)
        URLSession.handleEventsForBackgroundSessions { identifier, completionHandler in
            simulation_note("the program is launched for \(identifier)")
            let isOwn = plan.isLaunched && identifier == BackgroundPlan.identifier
            Law.require(isOwn, "a program is launched for its own session: \(identifier)")
            eventsAreHandled = completionHandler
        }
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        takeUp(in: session)
        for item in plan.items where !wasMade(item.number) { make(item, in: session) }
        waitForEnds(in: session)
        waitForReplay()
        session.finishTasksAndInvalidate()
        lock.withLock { while !isInvalid { lock.wait() } }
        BackgroundRecords.note(.done)
        _exit(0)
    }

    private var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: BackgroundPlan.identifier)
        configuration.isDiscretionary = plan.isDiscretionary
        configuration.timeoutIntervalForResource = plan.resourceTimeout
        if plan.isLaunched { configuration.backgroundLaunch = .command("/program") }
        plan.proxy?.configure(configuration, hasPassword: true)
        return configuration
    }

    // MARK: what earlier lives have noted

    private func times(_ event: BackgroundRecords.Event, _ number: Int) -> [simulation_time] {
        before.filter { $0.event == event && $0.number == number }.map(\.time)
    }

    /// How many there were before this one.
    private var lives: Int { times(.programBegins, -1).count }

    /// Not if it was lost since.
    private func wasMade(_ number: Int) -> Bool {
        lock.withLock { made.contains(number) }
    }

    /// When the life of that time ended.
    private func end(ofLifeAt time: simulation_time) -> simulation_time? {
        before.first { $0.event == .programEnds && $0.time >= time }?.time
    }

    private func mayBeUndone(_ time: simulation_time) -> Bool { BackgroundRecords.mayBeUndone(time, in: before) }

    private static let ofService: Set<BackgroundRecords.Event> = [.serviceBegins, .serviceEnds, .serviceIsDone]

    private func takeUp(in session: URLSession) {
        for item in plan.items {
            let number = item.number
            let isLost = (times(.lost, number).last ?? -1) > (times(.resumed, number).last ?? -1)
            let wasResumed = !times(.resumed, number).isEmpty && !isLost
            if wasResumed || !times(.reporting, number).isEmpty { made.insert(number) }
            if !times(.reported, number).isEmpty { reported.insert(number) }
        }
        // All transfers that could go on had ended.
        let hasServiceEnded = before.last { Self.ofService.contains($0.event) }?.event == .serviceIsDone
        for task in tasks(of: session) {
            let number = number(task)
            simulation_note("task \(number) goes on, \(task.state.rawValue)")
            Law.require(!times(.making, number).isEmpty, "a task that is found was made: \(number)")
            lock.withLock {
                made.insert(number)
                guard task.state == .completed, hasServiceEnded, !reportedNow.contains(number) else { return }
                waiting.insert(number)
                Law.require(!plan.isLaunched, "a program is launched for the end of task \(number)")
            }
            // It was killed before it had resumed it.
            if task.state == .suspended {
                if task.earliestBeginDate == nil { setDate(of: task, item(task)) }
                task.resume()
                BackgroundRecords.note(.resumed, number)
            }
        }
    }

    private func tasks(of session: URLSession) -> [URLSessionTask] {
        let found = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var tasks: [URLSessionTask] = []
        session.getAllTasks {
            tasks = $0
            found.signal()
        }
        found.wait()
        return tasks
    }

    // MARK: new tasks

    private func make(_ item: BackgroundPlan.Item, in session: URLSession) {
        if item.pause > 0 { usleep(UInt32(item.pause / 1000)) }
        lock.withLock { _ = made.insert(item.number) }
        BackgroundRecords.note(.making, item.number)
        let task: URLSessionTask
        switch item.kind {
        case .download: task = session.downloadTask(with: item.request)
        case .upload:
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload\(item.number)")
            SimulatedDisk.write(Data(Content.bytes(item.number, 0..<item.size)), to: file)
            task = session.uploadTask(with: item.request, fromFile: file)
        }
        task.taskDescription = "\(item.number)"
        setDate(of: task, item)
        task.resume()
        BackgroundRecords.note(.resumed, item.number)
        plan.strike(after: .resumed, item.number, life: lives)
        if item.isSuspended {
            task.suspend()
            usleep(UInt32(Choices("suspension \(item.number)").below(3_000_000)))
            task.resume()
        }
        guard let cancellation = item.cancellation else { return }
        usleep(UInt32(cancellation / 1000))
        BackgroundRecords.note(.cancelling, item.number)
        task.cancel()
    }

    private func setDate(of task: URLSessionTask, _ item: BackgroundPlan.Item) {
        if let delay = item.delay { task.earliestBeginDate = Date(timeIntervalSinceNow: Double(delay) / 1e9) }
    }

    /// A task that has no end and is not there is lost.
    private func waitForEnds(in session: URLSession) {
        var missing: [Int: Int] = [:], pause: UInt32 = 10
        while true {
            let open = lock.withLock { plan.items.filter { !reported.contains($0.number) } }
            if open.isEmpty { return }
            let end = Date(timeIntervalSinceNow: Double(pause))
            lock.withLock { while open.contains(where: { !reported.contains($0.number) }), lock.wait(until: end) {} }
            pause = min(2 * pause, 3600)
            let found = Set(tasks(of: session).map { number($0) })
            for item in open where !found.contains(item.number) {
                guard !lock.withLock({ reported.contains(item.number) }) else { continue }
                missing[item.number, default: 0] += 1
                guard missing[item.number] == 3 else { continue }
                let resumed = times(.resumed, item.number).last ?? start
                Law.require(
                    mayBeUndone(resumed), "task \(item.number), which was resumed at \(resumed), ends or is there")
                BackgroundRecords.note(.lost, item.number)
                make(item, in: session)
                missing[item.number] = 0
            }
        }
    }

    /// A program that finds ends of before is notified when it has them all.
    private func waitForReplay() {
        let end = Date(timeIntervalSinceNow: 60)
        lock.withLock {
            while !waiting.isEmpty, !isReplayed, lock.wait(until: end) {}
            Law.require(waiting.isEmpty || isReplayed, "the end of the events is reported: \(waiting.sorted())")
        }
    }

    // MARK: delegate

    private func item(_ task: URLSessionTask) -> BackgroundPlan.Item {
        let url = task.originalRequest?.url
        guard let item = plan.items.first(where: { $0.request.url == url }) else {
            Law.require(false, "a task with an event is known: \(url?.absoluteString ?? "")")
            _exit(Law.breach)
        }
        // A program that is killed between the two calls has made it without one.
        Law.require(
            [nil, "\(item.number)"].contains(task.taskDescription),
            "task \(item.number) keeps its description: \(task.taskDescription ?? "")")
        return item
    }

    private func number(_ task: URLSessionTask) -> Int { item(task).number }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let item = item(downloadTask), number = item.number, data = SimulatedDisk.content(of: location)
        lock.withLock {
            let isFirst = files.insert(number).inserted && !reportedNow.contains(number)
            Law.require(isFirst, "a file comes once, before the end: \(number)")
        }
        check(item, downloadTask, data)
        BackgroundRecords.note(.handedOver, number)
        plan.strike(after: .handedOver, number, life: lives)
    }

    private func check(_ item: BackgroundPlan.Item, _ task: URLSessionTask, _ data: Data) {
        let number = item.number, response = task.response as? HTTPURLResponse
        let mayBeCut = item.mayFail && response?.value(forHTTPHeaderField: "X-Until-Close") != nil
        Law.require(
            data.count == item.size || mayBeCut && data.count < item.size || data.isEmpty && mayHaveNoFile(number),
            "task \(number) has \(item.size) octets: \(data.count)")
        let content = response?.value(forHTTPHeaderField: "X-Content").flatMap { Int($0) } ?? number
        Law.require(
            Content.isVersion(content, of: number) && Content.isRight(content, data),
            "the octets of task \(number) are right: \(data.count) of version \(content)")
    }

    /// Whether a program that the power has failed for has had the file, which the library has removed then.
    private func mayHaveNoFile(_ number: Int) -> Bool {
        times(.handedOver, number).contains { mayBeUndone($0) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let item = item(task), number = item.number
        Law.require(!times(.making, number).isEmpty || wasMade(number), "a task that ends was made: \(number)")
        for time in times(.reporting, number) { checkRepetition(number, after: time) }
        let isNew = lock.withLock { reportedNow.insert(number).inserted }
        Law.require(isNew, "the end of task \(number) is reported once in a life of the program")
        BackgroundRecords.note(.reporting, number)
        check(item, task, error)
        BackgroundRecords.note(.reported, number)
        plan.strike(after: .reported, number, life: lives)
        lock.withLock {
            reported.insert(number)
            lock.broadcast()
        }
    }

    /// Of an end that was reported to an earlier life: only if it was killed in the callback, or just after it, or if
    /// the power failed soon.
    private func checkRepetition(_ number: Int, after time: simulation_time) {
        let returned = times(.reported, number).first { $0 >= time }
        guard let returned, let end = end(ofLifeAt: time) else { return }
        let isSoon = end < returned + plan.timeToAcknowledge
        Law.require(
            isSoon || mayBeUndone(returned),
            "the end of task \(number) is reported once: at \(returned), long before \(end), and again")
    }

    /// Whether a task without faults has had time for its end: a service, with a program that answers its challenges.
    private func hadTime(_ item: BackgroundPlan.Item, since made: simulation_time) -> Bool {
        let now = BackgroundRecords.Record(event: .reporting, number: item.number, time: simulation_now())
        return BackgroundRecords.haveRun(
            for: 900 * second, since: made + (item.delay ?? 0), in: BackgroundRecords.all + [now])
    }

    private func check(_ item: BackgroundPlan.Item, _ task: URLSessionTask, _ error: (any Error)?) {
        let number = item.number
        if let error {
            let code = (error as? URLError)?.code
            simulation_note("task \(number) ends: \(code?.rawValue ?? 0)")
            Law.require(code != nil, "an error is a URLError: \(error)")
            let isCancelled = !times(.cancelling, number).isEmpty || item.cancellation != nil
            if code == .cancelled { return Law.require(isCancelled, "task \(number) is cancelled by the program only") }
            // Of a clock that is set while the machine is off, or in an earlier boot, nothing is known. A date may be
            // far away or over then.
            let records = BackgroundRecords.all
            let isClockSet = records.contains { $0.event == .clockSet }
            let made = times(.making, number).first ?? start
            let wasOff = records.contains { $0.event == .powerFailed && $0.time >= made }
            let transient: [URLError.Code] = [
                .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .notConnectedToInternet,
            ]
            let isTransient = transient.contains { $0 == code }
            if isClockSet, item.delay != nil || wasOff, isTransient { return }
            let isOver = simulation_now() - made >= simulation_time(plan.resourceTimeout) * second
            // While no service runs, time passes too.
            let wasAway = isOver && code == .timedOut && !hadTime(item, since: made)
            // That of its body, which the program has not synchronized.
            let codes: [URLError.Code] = [.fileDoesNotExist, .cannotWriteToFile]
            let hasLostFile = codes.contains { $0 == code } && times(.making, number).contains { mayBeUndone($0) }
            Law.require(item.mayFail || wasAway || hasLostFile, "task \(number) fails only by a fault: \(error)")
            Law.require(isOver || !isTransient, "task \(number) goes on after a transient error: \(error)")
            return
        }
        BackgroundRecords.note(.succeeded, number)
        let response = task.response as? HTTPURLResponse
        let status = response?.statusCode ?? 0
        Law.require(status == 200 || status == 206, "task \(number) has the response of the server: \(status)")
        guard item.kind == .download else { return }
        let hasFile = lock.withLock { files.contains(number) }
        // An earlier life may have got it, and was killed before it got the end.
        Law.require(
            hasFile || !times(.handedOver, number).isEmpty, "a download that succeeds has a file: \(number)")
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic else {
            return completionHandler(.performDefaultHandling, nil)
        }
        let password = Password.right(space.protocol ?? "", space.host)
        completionHandler(
            .useCredential,
            URLCredential(user: Password.user(of: space.host), password: password, persistence: .forSession))
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        simulation_note("all events were reported")
        lock.withLock {
            let left = waiting.subtracting(reportedNow)
            Law.require(left.isEmpty, "the end of the events is reported after them: \(left.sorted())")
            Law.require(!isReplayed, "the end of the events is reported once")
            isReplayed = true
            lock.broadcast()
        }
        eventsAreHandled?()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        lock.withLock {
            Law.require(!isInvalid, "a session becomes invalid once")
            isInvalid = true
            lock.broadcast()
        }
    }
}
