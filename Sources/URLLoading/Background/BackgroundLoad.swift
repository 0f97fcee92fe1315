internal import BackgroundTransfers
internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The load of a task of a background session, which the service carries out: turns calls of the task into commands,
/// and notices of the service into events of the task.
///
/// The task exists in the service from its creation, and goes on without this process. The end comes from the service,
/// also that of a cancelled task; only a task that the service does not know ends here.
final class BackgroundLoad: Load, @unchecked Sendable {
    // Sendable: immutable, guarded by the lock of the task, or confined to the loop.

    let session: BackgroundSession
    /// The number of the task: negative if the service had not sent the first free identifier yet.
    let number: Int

    // MARK: Guarded by the lock of the task

    private var creation: Creation
    private var sent = TaskProperties()

    private enum Creation {
        /// The files of the request are being copied.
        case preparing
        /// The part of a stopped download is being moved to the service, which will know the task, also if it is
        /// cancelled meanwhile.
        case moving
        /// The service knows the task, or will.
        case created
        /// The service will not know the task.
        case failed(LoadError)
    }

    /// The properties of the task that the service knows.
    private struct TaskProperties {
        var isSuspended = true
        var priority: Float = URLSessionTask.defaultPriority
        var description: String?
        var earliestBegin: Double?
        var expectsToSend = NSURLSessionTransferSizeUnknown
        var expectsToReceive = NSURLSessionTransferSizeUnknown

        init() {}

        /// Those in the description of a task that is created in the service, or that the service has.
        init(_ description: TransferDescription, isSuspended: Bool = true) {
            let request = description.request
            self.isSuspended = isSuspended
            priority = request.priority
            self.description = request.taskDescription
            earliestBegin = request.earliestBegin
            (expectsToSend, expectsToReceive) = (description.expectsToSend, description.expectsToReceive)
        }

        init(_ values: TaskCore.Values) {
            isSuspended = values.state == .suspended
            priority = values.priority
            description = values.taskDescription
            earliestBegin = values.earliestBeginDate?.secondsForService
            (expectsToSend, expectsToReceive) = (values.expectsToSend, values.expectsToReceive)
        }
    }

    // MARK: Confined to the loop

    /// Nil after the end.
    private(set) var task: TaskCore?
    private(set) var hasEnded = false
    private var hasStarted = false
    private var isCancelled = false
    /// Whether the end has arrived, and is being delivered.
    private var isEnding = false
    private var lastReport: UInt64 = 0
    /// The head of the task's response.
    private var head: TransferHead?
    /// The challenge that the delegate is asked about.
    private var challenge: TransferChallenge?
    private var isDue = false
    /// The request with which each attempt begins. A resumed download begins where redirects had led, and the delegate
    /// may have decided on another request (BG-17).
    private var firstRequest: URLRequest
    /// The fields of the configuration that it does not have.
    private(set) var fieldsDroppedFirst: [String]
    private var body: ResponseBody?
    /// A credential that is stored when a server accepts it (AUTH-22).
    var offeredCredential: (ChallengeCredential, URLProtectionSpace)?

    /// Reads the body of an upload's response.
    private struct ResponseBody {
        let reader: FileReader
        var offset: Int64 = 0
        var isReading = false
        var isStopped = false
        let done: () -> Void
    }

    /// A new task.
    init(_ task: TaskCore, in session: BackgroundSession) {
        self.task = task
        self.session = session
        number = task.number
        let first = task.currentRequest ?? task.originalRequest
        (firstRequest, fieldsDroppedFirst) = (first, task.fieldsDropped(onTheWayTo: first))
        creation = .preparing
    }

    /// A task that the service has.
    init(_ task: TaskCore, in session: BackgroundSession, state: TransferState) {
        self.task = task
        self.session = session
        number = task.number
        let first = state.description.request.first(after: task.originalRequest)
        firstRequest = first
        fieldsDroppedFirst = state.description.request.archive == nil ? task.fieldsDropped(onTheWayTo: first) : []
        creation = .created
        lastReport = state.lastReport
        head = state.head
        sent = TaskProperties(state.description, isSuspended: state.isSuspended)
    }

    /// The identifier that the service knows.
    var identifier: Int { session.commands.known(number) ?? number }

    /// Whether the delegate may have to decide about server trust for the task soon.
    var needsTrust: Bool {
        guard !hasEnded, !isEnding, let task, task.state == .running else { return false }
        return task.earliestBeginDate == nil && task.currentRequest?.url?.scheme?.lowercased() == "https"
    }

    /// Whether the service knows the task, or will.
    var isKnown: Bool { task?.locked { _ in if case .created = creation { true } else { false } } ?? false }

    // MARK: Commands, on any thread

    /// Creates the task in the service, before the program gets it.
    func create() {
        guard let task else { return }
        session.awaitAttachment()
        do throws(LoadError) {
            if let error = session.creationError(of: task) { throw error }
            let description = try TransferDescription(task)
            guard let files = try RequestFiles(of: task, description) else { return created(description, task) }
            if let folder = session.uploads, let ready = files.prepareAtOnce(in: folder) {
                return created(ready, task)
            }
            session.prepare(files) {
                self.beginMove(task)
            } done: {
                self.prepared($0, task)
            }
        } catch {
            task.locked { _ in creation = .failed(error) }
        }
    }

    /// Whether the part of a stopped download may be moved. That of a cancelled task stays for its resume data.
    private func beginMove(_ task: TaskCore) -> Bool {
        task.locked { values in
            guard values.state == .running || values.state == .suspended else { return false }
            creation = .moving
            return true
        }
    }

    private func prepared(_ result: Result<TransferDescription, LoadError>, _ task: TaskCore) {
        switch result {
        case .success(let description): created(description, task)
        case .failure(let error):
            let isStarted = task.locked { values in
                creation = .failed(error)
                return values.hasStarted
            }
            if isStarted { session.loop.post { self.end(error) } }
        }
    }

    private func created(_ description: TransferDescription, _ task: TaskCore) {
        task.locked { values in
            // A task that was cancelled meanwhile has ended here, unless its part was being moved. It has if the
            // service is lost.
            let isMoving = if case .moving = creation { true } else { false }
            guard values.state != .completed, values.state != .canceling || isMoving else {
                if let file = description.request.bodyFile { unlink(file) }
                if isMoving, case .download(let part)? = description.request.resumption,
                    case .download(let stopped?) = task.kind
                {
                    try? PrivateCopy.move(part.path, to: stopped.path)
                }
                return
            }
            creation = .created
            sent = TaskProperties(description)
            session.add(.create(description))
            sendChanges(of: values)
            if values.state == .canceling { session.add(.cancel(task: number)) }
        }
        // A session that was invalidated meanwhile leaves the task to the service.
        if task.core.isInvalidated { session.loop.post { self.session.isCreated(self) } }
    }

    /// Sends the properties that have changed to the service. Called with the lock of the task held, so that the order
    /// is that of the changes.
    func sendChanges(of values: TaskCore.Values) {
        guard case .created = creation, values.state == .running || values.state == .suspended else { return }
        let now = TaskProperties(values)
        if now.priority != sent.priority { session.add(.setPriority(task: number, now.priority)) }
        if now.description != sent.description { session.add(.setTaskDescription(task: number, now.description)) }
        if now.earliestBegin != sent.earliestBegin { session.add(.setEarliestBegin(task: number, now.earliestBegin)) }
        if (now.expectsToSend, now.expectsToReceive) != (sent.expectsToSend, sent.expectsToReceive) {
            session.add(
                .setExpectedBytes(task: number, toSend: now.expectsToSend, toReceive: now.expectsToReceive))
        }
        if now.isSuspended != sent.isSuspended {
            session.add(now.isSuspended ? .suspend(task: number) : .resume(task: number))
        }
        sent = now
    }

    /// Calls the delegate's methods for the end up to this step, and acknowledges them. The command is made before the
    /// callbacks, because a kill between their return and its write repeats them.
    func acknowledging(_ step: DeliveryStep, _ task: TaskCore, _ callbacks: () -> Void) {
        let isKnown = task.locked { _ in if case .created = creation { true } else { false } }
        let command = isKnown ? session.commands.encoded(.acknowledge(task: number, step)) : nil
        callbacks()
        if let command { session.add(command) }
        if step == .end { session.loop.post { self.session.endWasDelivered(self) } }
    }

    /// The delegate's answer to the challenge, of which another process of the service may have asked it meanwhile.
    func answer(_ decision: TransferAnswer.Decision) {
        guard let challenge = self.challenge.take() else { return }
        session.add(.answer(task: number, TransferAnswer(to: challenge.identifier, decision: decision)))
    }

    // MARK: From the task, on the loop

    func start(_ reason: LoadEvent.FetchReason) {
        hasStarted = true
        if let error = session.loss { return lost(error) }
        let failure = task?.locked { _ -> LoadError? in if case .failed(let error) = creation { error } else { nil } }
        if let failure { end(failure) }
    }

    /// The service was notified when the state of the task changed.
    func suspend() {}
    func resume() {}

    func cancel(_ error: LoadError) {
        guard !hasEnded, !isEnding, !isCancelled, let task else { return }
        isCancelled = true
        guard session.loss == nil else { return end(error, body: task.unstartedBody) }
        switch task.locked({ _ in creation }) {
        case .created: session.add(.cancel(task: number))
        // `created` sends it when the service knows the task.
        case .moving: break
        case .preparing, .failed: end(error, body: task.unstartedBody)
        }
    }

    func resumeReading() {
        guard body?.isStopped == true else { return }
        body?.isStopped = false
        readBody()
    }

    /// The delegate's decision on a delayed request (BG-17).
    func begin(_ request: URLRequest?) {
        guard isDue, !hasEnded, let task else { return }
        guard let request else { return sendDecision(nil) }
        do throws(LoadError) {
            var new = try TransferRequest(request, of: task, without: [])
            new.archive = request.archived
            (firstRequest, fieldsDroppedFirst) = (request, [])
            let description = TransferDescription(task: number, kind: task.isUpload ? .upload : .download, request: new)
            guard !task.isUpload, let files = try RequestFiles(bodyOf: request, description) else {
                return sendDecision(new)
            }
            // Until then it stays due, so that the delegate is not asked again.
            session.prepare(files) {
                true
            } done: { result in
                self.session.loop.post { self.decide(result) }
            }
        } catch {
            abandon(error)
        }
    }

    /// The body of the request that the delegate has chosen is copied.
    private func decide(_ result: Result<TransferDescription, LoadError>) {
        switch result {
        case .success(let description) where isDue && !hasEnded && !isEnding: sendDecision(description.request)
        case .success(let description):
            if let copy = description.request.bodyFile { unlink(copy) }
        case .failure(let error): abandon(error)
        }
    }

    private func sendDecision(_ request: TransferRequest?) {
        isDue = false
        session.add(.begin(task: number, request))
    }

    /// Ends a task that the service knows.
    private func abandon(_ error: LoadError) {
        if hasEnded || isEnding { return }
        end(error)
        session.add(.cancel(task: number))
    }

    // MARK: From the service, on the loop

    /// The state of the task after the session was attached again.
    func attachedAgain(_ state: TransferState) {
        guard !hasEnded, !isEnding, let task else { return }
        lastReport = state.lastReport
        if state.head != head { noteResponse(state.head, expectedLength: state.progress.toReceive) }
        task.countInBackground(state.progress)
        if let challenge = state.challenge {
            ask(challenge)
        } else {
            withdrawChallenge()
        }
        if state.isDue { becomeDue() }
    }

    func receive(_ report: TransferReport) {
        guard !hasEnded, !isEnding, let task else { return }
        lastReport = report.number
        switch report.event {
        case .waitingForConnectivity: break
        case .upgraded(let url): task.load(self, isUpgradedTo: url)
        case .redirected(let head, let url): task.redirectInBackground(head, url)
        case .challenge(let challenge): ask(challenge)
        case .challengeWithdrawn: withdrawChallenge()
        case .response(let head, let expected, let offset):
            storeCredential(ifAcceptedBy: head)
            noteResponse(head, expectedLength: expected, resumedOffset: offset)
        case .progress(let progress): task.progressInBackground(progress)
        // The end comes as a notice of its own.
        case .metrics, .finished, .failed: break
        }
    }

    /// Also of one that came while the service was not attached.
    private func noteResponse(_ head: TransferHead?, expectedLength: Int64, resumedOffset: Int64 = 0) {
        guard let head else { return }
        self.head = head
        task?.receiveInBackground(head, expectedLength: expectedLength, resumedOffset: resumedOffset)
    }

    func restarted(_ progress: TransferProgress) {
        guard !hasEnded, !isEnding, let task else { return }
        task.restartInBackground(progress, with: firstRequest, without: fieldsDroppedFirst)
    }

    func becomeDue() {
        guard !hasEnded, !isEnding, !isDue, let task else { return }
        isDue = true
        task.delayIsOver()
    }

    private func ask(_ challenge: TransferChallenge) {
        let asked = self.challenge
        self.challenge = challenge
        // The delegate's answer is for the new one then, of another process of the service.
        if asked?.asksTheSame(as: challenge) == true { return }
        task?.ask(challenge, self)
    }

    private func withdrawChallenge() {
        challenge = nil
        task?.withdrawChallenge()
    }

    private func storeCredential(ifAcceptedBy head: TransferHead) {
        guard let (credential, space) = offeredCredential else { return }
        let source: ChallengeSource = space.isProxy() ? .proxy : .server
        guard source.hasAccepted(head.status) else { return }
        offeredCredential = nil
        task?.enqueue(.credential(credential, space))
    }

    // MARK: The end

    /// - Parameter done: Called when all callbacks of the end are enqueued.
    func end(_ end: TransferEnd, _ done: @escaping () -> Void) {
        guard !hasEnded, !isEnding, let task else { return done() }
        isEnding = true
        withdrawChallenge()
        if end.head != head { noteResponse(end.head, expectedLength: end.progress.toReceive) }
        task.finishInBackground(end)
        switch end.outcome {
        case .file(let path) where task.isUpload && end.delivered == .nothing:
            body = ResponseBody(reader: FileReader(path: path, on: session.loop), done: done)
            return readBody()
        case .file(let path): finish(nil, end.delivered == .nothing ? .file(path: path) : .nothing, done)
        case .failed(let failure, .download(let part)?):
            return take(part, LoadError(failure), done)
        case .failed(let failure, .upload(let upload)?):
            finish(LoadError(failure), upload.stopped.map { .unsent($0) } ?? .nothing, done)
        case .failed(let failure, nil): finish(LoadError(failure), .nothing, done)
        case .cancelledBySystem(let reason): finish(.cancelledBySystem(reason: reason), .nothing, done)
        }
    }

    private func readBody() {
        guard let body, !body.isReading, !body.isStopped else { return }
        self.body?.isReading = true
        body.reader.read(at: body.offset, most: ReadBuffers.size) { [self] result in
            if hasEnded { return }
            self.body?.isReading = false
            switch result {
            case .success(let data) where data.isEmpty:
                self.body = nil
                finish(nil, .nothing, body.done)
            case .success(let data):
                self.body?.offset += Int64(data.count)
                if task?.enqueue(.data(data), bytes: data.count) == false { self.body?.isStopped = true }
                readBody()
            case .failure(let failure):
                self.body = nil
                finish(.cannotReadFile(failure.code), .nothing, body.done)
            }
        }
    }

    /// Takes the part of a download from the service, which removes its own files after the end.
    private func take(_ part: TransferResumption.Download, _ error: LoadError, _ done: @escaping () -> Void) {
        let path = ResumableFiles.folder + "/" + FileWriter.name(of: part.path)
        let result = LoopBox({ [self] (isTaken: Bool) in
            guard isTaken, let point = part.stopped?.point else { return finish(error, .nothing, done) }
            finish(error, .stopped(path: path, point), done)
        })
        session.loop.callOut(
            CalledOut { [loop = session.loop] in
                let isTaken = ResumableFiles.take(part.path, to: path)
                loop.post { result.value(isTaken) }
            })
    }

    private func finish(_ error: LoadError?, _ body: LoadedBody, _ done: @escaping () -> Void) {
        end(error, body: body)
        done()
    }

    /// Ends the task here. The service does not know it, or is notified.
    func end(_ error: LoadError?, body: LoadedBody = .nothing) {
        guard !hasEnded, let task else { return }
        hasEnded = true
        // Set if the service does not have the task any more, whose end was being delivered.
        let unread = self.body
        self.body = nil
        task.holdForEnd()
        task.end(error, body: body)
        self.task = nil
        session.ended(self)
        unread?.done()
    }

    /// The service is lost for good. A task that was never resumed ends when it is.
    func lost(_ error: LoadError) {
        guard !hasEnded, !isEnding, let task else { return }
        let (isKnown, isStarted) = task.locked { values in
            let isKnown = if case .created = creation { true } else { false }
            return (isKnown, values.hasStarted || values.state == .canceling)
        }
        guard isStarted || hasStarted else { return }
        // In the spool, so that the service does not go on with a task that has ended for the program.
        if isKnown { session.add(.cancel(task: number)) }
        end(error)
    }

    /// The service goes on without this program (BG-20). False if the end is being delivered.
    func leave() -> Bool {
        guard !hasEnded, !isEnding, let task else { return false }
        hasEnded = true
        self.task = nil
        withdrawChallenge()
        task.leaveToService()
        return true
    }
}

extension LoadError {
    init(_ failure: TransferFailure) {
        self.init(code: failure.code, cause: failure.reason.map { .service($0) })
        url = failure.url
        untrustedPeer = failure.untrustedPeer?.value
    }
}
