package import FoundationEssentials
internal import Glibc
package import LoadingEvents
package import LoadingSemantics
package import LoadingTransport

/// A load whose bytes come from a `LoadSource`: the counterpart of `HTTPLoad` without stages. Confined to its loop.
///
/// **Flow.** As with `HTTPLoad`, nothing is delivered while an answer of the client is pending, while the client
/// accepts no more, or while the load is suspended. The source is then paused, and bytes that it delivers anyway are
/// kept here.
package final class SourceLoad: Load, LoopTimerTarget, BodySinkOwner {
    private let loop: EventLoop
    let log: EventLog?
    private let request: (method: String, url: String)
    package let source: any LoadSource
    /// Retained until the end.
    private var client: (any LoadClient)?
    private let sink: BodySink

    private var state = State.waitingToStart
    /// Set when `start` was called. The load does not start while it is suspended.
    private var startReason: LoadEvent.FetchReason?
    private var isSuspended = false
    /// The client has to answer a response.
    private var isAsking = false
    private var isIdleTimePaused = false
    /// A redirect that the client has to answer.
    private var redirection: SourceResponse?
    private var hasStoppedSource = false
    /// Whether the source was notified that everything is delivered, and whether it still has work to do.
    private var hasNotifiedSource = false
    private var isWaitingForSource = false
    /// `flow` is running and handles what happens meanwhile.
    private var isDelivering = false
    /// Pieces that the client has not accepted yet.
    private var backlog = FIFOQueue<Piece>()
    private var sourceEnd: SourceEnd?

    private var expectedLength: Int64 = -1
    private var resumedOffset: Int64?
    private var isOpen = false

    let idleTimeout: Double
    private let totalTimeout: Double
    private let timer = LoopTimer()
    private var clock = LoadClock()

    private enum State {
        case waitingToStart
        case loading
        /// The whole body is delivered, and its file is being closed.
        case closingFile
        /// The load has failed, and the file with the partial body is being closed.
        case failing(LoadError)
        case ended
    }

    private enum Piece {
        case response(SourceResponse)
        case data(Data)
    }

    private enum SourceEnd {
        case complete
        case failed(LoadError)
    }

    /// - Parameters:
    ///   - idleTimeout: Seconds without activity before the load fails (C-6).
    ///   - totalTimeout: Seconds from start to end before the load fails (C-8).
    package init(
        _ source: any LoadSource, on loop: EventLoop, destination: BodyDestination, idleTimeout: Double,
        totalTimeout: Double, log: EventLog?, request: (method: String, url: String), client: any LoadClient
    ) {
        self.source = source
        self.loop = loop
        sink = BodySink(destination, on: loop)
        self.idleTimeout = idleTimeout
        self.totalTimeout = totalTimeout
        self.log = log
        self.request = request
        self.client = client
    }

    // MARK: From the client

    package func start(_ reason: LoadEvent.FetchReason) {
        loop.checkConfinement(of: "A load")
        guard case .waitingToStart = state else { return }
        startReason = reason
        if !isSuspended { begin(reason) }
    }

    private func begin(_ reason: LoadEvent.FetchReason) {
        state = .loading
        sink.owner = self
        clock.begin(at: loop.now)
        log?.record(.fetchStarted(reason))
        log?.traceOnly(.request(method: request.method, url: request.url))
        armTimer()
        source.start(for: self)
    }

    package func suspend() {
        loop.checkConfinement(of: "A load")
        guard !isSuspended, !hasEnded else { return }
        isSuspended = true
        clock.suspend(at: loop.now)
        loop.disarm(timer)
        if hasStarted, !hasStoppedSource { source.setPaused(true) }
    }

    package func resume() {
        loop.checkConfinement(of: "A load")
        guard isSuspended, !hasEnded else { return }
        isSuspended = false
        guard hasStarted else {
            if let startReason { begin(startReason) }
            return
        }
        clock.resume(at: loop.now)
        armTimer()
        flow()
    }

    package func cancel(_ error: LoadError) {
        loop.checkConfinement(of: "A load")
        end(error)
    }

    package func abandon() {
        loop.checkConfinement(of: "A load")
        guard !hasEnded else { return }
        stop()
        // The file contains the bytes received before the redirect.
        sink.discardFile()
        forgetClient()
    }

    package func handOver(to client: any LoadClient) {
        loop.checkConfinement(of: "A load")
        if !hasEnded { self.client = client }
    }

    package func resumeReading() {
        loop.checkConfinement(of: "A load")
        guard sink.resumeReading() else { return }
        clock.noteActivity(at: loop.now)
        flow()
    }

    package func answerResponse(_ destination: BodyDestination?) {
        loop.checkConfinement(of: "A load")
        guard isAsking, !hasEnded else { return }
        isAsking = false
        // The destination of a body is fixed with its first byte.
        if let destination, !isOpen { sink.destination = destination }
        clock.noteActivity(at: loop.now)
        flow()
    }

    /// Another load follows a redirect. Here a redirect can only be refused.
    package func answerRedirect(_ next: LoadRequest?) {
        loop.checkConfinement(of: "A load")
        guard let refused = redirection, next == nil, !hasEnded else { return }
        redirection = nil
        backlog = FIFOQueue()
        backlog.append(.response(refused))
        sourceEnd = .complete
        clock.noteActivity(at: loop.now)
        flow()
    }

    package func answerChallenge(_ answer: AuthenticationAnswer) {
        loop.checkConfinement(of: "A load")
        guard case .loading = state else { return }
        source.answerChallenge(answer)
    }

    // MARK: From the source

    /// The response for the bytes that follow; once more for each part of a body that has several (S-69).
    package func received(_ response: SourceResponse) { add(.response(response)) }

    package func received(_ data: Data) {
        if !data.isEmpty { add(.data(data)) }
    }

    /// The source redirects and ends. The client follows the redirect with another load, or takes this response as the
    /// result. False when the source has already ended.
    package func redirected(_ response: SourceResponse) -> Bool {
        guard case .loading = state, sourceEnd == nil, redirection == nil else { return false }
        redirection = response
        stopSource()
        return true
    }

    /// Whether the source waits for something outside its control. The idle time then does not run.
    package func setIdleTimePaused(_ isIdleTimePaused: Bool) {
        self.isIdleTimePaused = isIdleTimePaused
        clock.noteActivity(at: loop.now)
    }

    /// The source has ended. The bytes delivered before are the client's in any case (T-38).
    package func ended(_ error: LoadError?) {
        guard case .loading = state, sourceEnd == nil, redirection == nil else { return }
        sourceEnd = error.map { .failed($0) } ?? .complete
        flow()
    }

    /// The source has no bytes yet, but is active.
    package func noteActivity() { clock.noteActivity(at: loop.now) }

    /// The source has finished its work before the end.
    package func sourceFinished() {
        guard isWaitingForSource else { return }
        isWaitingForSource = false
        flow()
    }

    private func add(_ piece: Piece) {
        guard case .loading = state, sourceEnd == nil, redirection == nil else { return }
        clock.noteActivity(at: loop.now)
        backlog.append(piece)
        flow()
    }

    // MARK: Flow

    private var hasStarted: Bool { if case .waitingToStart = state { false } else { true } }

    package var hasEnded: Bool {
        switch state {
        case .failing, .ended: true
        case .waitingToStart, .loading, .closingFile: false
        }
    }

    var mayDeliverBody: Bool { !isSuspended && !isAsking && redirection == nil && !hasEnded }

    /// Delivers the backlog as far as the client accepts it, and pauses or resumes the source.
    private func flow() {
        guard !isDelivering, !hasEnded else { return }
        isDelivering = true
        while sink.isFlowing, let piece = backlog.popFirst() {
            switch piece {
            case .response(let response): deliver(response)
            case .data(let data): deliver(data)
            }
        }
        isDelivering = false
        guard !hasEnded else { return }
        if sink.isFlowing, backlog.isEmpty, let sourceEnd {
            complete(sourceEnd)
        } else if sourceEnd == nil, redirection == nil {
            source.setPaused(!sink.isFlowing || !backlog.isEmpty)
        }
    }

    private func deliver(_ response: SourceResponse) {
        guard let client else { return }
        if case .later = client.load(self, didReceive: response) { isAsking = true }
        expectedLength = response.expectedLength
        resumedOffset = response.resumedOffset
    }

    private func deliver(_ data: Data) {
        open()
        sink.deliver(data)
    }

    private func open() {
        guard !isOpen else { return }
        isOpen = true
        if case .stopped(let download) = sink.destination, let resumedOffset {
            return sink.open(.existing(path: download.path, offset: resumedOffset))
        }
        sink.open(expectedLength: expectedLength)
    }

    // MARK: From the sink

    /// `flow` pauses or resumes the source after it has delivered.
    func applyFlow() {}

    func bodySink(delivers data: Data) -> Bool { client?.load(self, didReceive: data) ?? true }

    func bodySinkHasCollected(_ total: Int64) { client?.load(self, hasCollected: total) }

    func bodySinkHasWritten(_ count: Int64) {
        if case .failing(let error) = state, error.code == LoadError.cancelled.code { return }
        client?.load(self, hasWritten: count)
    }

    func bodySinkClosedFile(_ outcome: Result<String, FileWriter.Failure>) {
        switch (outcome, state) {
        case (.success(let path), .failing(let error)): reportEnd(error, .stopped(path: path, resumePoint(of: path)))
        case (.failure, .failing(let error)): reportEnd(error, .nothing)
        case (.failure(.opening), .loading) where resumedOffset != nil,
            (.failure(.opening), .closingFile) where resumedOffset != nil:
            restart()
        case (.success(let path), _): endWell(.file(path: path))
        case (.failure(let failure), _):
            stop()
            reportEnd(LoadError(failure), .nothing)
        }
    }

    /// The partial file is missing, or shorter than recorded: the whole body is loaded again.
    private func restart() {
        guard let folder = sink.destination.folder else { return end(.cannotOpenFile(ENOENT)) }
        state = .loading
        sink.restart(.file(.newFile(inFolder: folder)))
        isOpen = false
        (resumedOffset, sourceEnd, hasNotifiedSource) = (nil, nil, false)
        backlog = FIFOQueue()
        clock.noteActivity(at: loop.now)
        log?.record(.fetchStarted(.retry))
        source.restart()
        flow()
    }

    private func resumePoint(of path: String) -> DownloadResumePoint? {
        source.resumePoint(ofFile: FileWriter.name(of: path), delivered: sink.deliveredBytes)
    }

    package var resumePointUnderWay: DownloadResumePoint? {
        guard hasStarted, !hasEnded else { return nil }
        return sink.writer?.path.flatMap { resumePoint(of: $0) }
    }

    // MARK: Time

    private func armTimer() {
        guard !isSuspended else { return }
        let check = clock.nextCheck(
            at: loop.now, idle: idleTimeout, total: totalTimeout, idleTimeRuns: idleTimeIsRunning,
            shortest: loop.limits.shortestTimerPeriod)
        loop.arm(timer, at: check, for: self)
    }

    /// The idle time runs while the load waits for the source, not while the client stops the flow.
    private var idleTimeIsRunning: Bool { sourceEnd == nil && sink.isFlowing && !isIdleTimePaused }

    package func timerFired(_ timer: LoopTimer) {
        if clock.isOver(at: loop.now, idle: idleTimeIsRunning ? idleTimeout : nil, total: totalTimeout) {
            return end(source.timeoutError)
        }
        armTimer()
    }

    // MARK: The end

    private func complete(_ end: SourceEnd) {
        if case .closingFile = state { return }
        switch end {
        case .failed(let error): self.end(error)
        case .complete:
            if !hasNotifiedSource {
                hasNotifiedSource = true
                isWaitingForSource = !source.isDelivered()
            }
            if isWaitingForSource { return }
            // An empty body has a file too.
            open()
            if sink.writer != nil { state = .closingFile }
            if sink.closeFile() { endWell(sink.takeCollected().map { .whole($0) } ?? .nothing) }
        }
    }

    private func endWell(_ body: LoadedBody) {
        log?.record(.responseEnded(bytes: sink.deliveredBytes, decoded: sink.deliveredBytes))
        stop()
        reportEnd(nil, body)
    }

    private func end(_ error: LoadError) {
        guard !hasEnded else { return }
        stop()
        guard sink.writer != nil else { return reportEnd(error, untouched) }
        let isClosing = if case .closingFile = state { true } else { false }
        state = .failing(error)
        sink.giveUpFile(isClosing: isClosing)
    }

    /// The remains of the earlier download, as long as nothing was appended to them.
    private var untouched: LoadedBody {
        guard case .stopped(let download) = sink.destination, !isOpen else { return .nothing }
        return .stopped(path: download.path, download.point)
    }

    /// Releases the timer and the source.
    private func stop() {
        loop.disarm(timer)
        stopSource()
        backlog = FIFOQueue()
    }

    private func stopSource() {
        guard hasStarted, !hasStoppedSource else { return }
        hasStoppedSource = true
        source.stop()
    }

    private func reportEnd(_ error: LoadError?, _ body: LoadedBody) {
        guard let client else { return }
        forgetClient()
        if let error { log?.record(.failed(code: error.code, decoded: sink.deliveredBytes)) }
        log?.record(.ended)
        client.load(self, didEndWith: error, body: body)
    }

    private func forgetClient() {
        state = .ended
        client = nil
        sink.owner = nil
    }
}

extension SourceLoad: TunnelClient {
    var loadClient: (any LoadClient)? { client }

    /// The responses of a source are not HTTP's.
    func response(_ head: ResponseHead) -> LoadResponse? { nil }
}
