package import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The life of one task in the engine, from `start` to exactly one end. Confined to its loop.
///
/// The stages, in the order a request passes them; a response passes them upwards:
///
///     ConnectivityStage   wait for a route when asked to
///     RedirectStage       follow, ask the client, count
///     ResumptionStage     go on with a download that stopped
///     DecodingStage       gzip, deflate, br, zstd
///     ExchangeStage       a connection from the pool, one request, one response
///
/// **Flow.** Bytes go to the client only while it wants them: not while an answer of it is outstanding, not while it is
/// full, not while the load is suspended. Otherwise what has been read already (one buffer at the most) is put by, and
/// the connection is not read.
package final class Load: LoopTimerTarget, FileWriterObserver {
    let environment: LoadingEnvironment
    package let log: EventLog?
    /// The request that is being fetched; after a redirect not the first one.
    package private(set) var request: LoadRequest
    /// Held until the end.
    private var client: (any LoadClient)?

    private var connectivity = ConnectivityStage()
    private var redirect = RedirectStage()
    private var resumption: ResumptionStage?
    private var decoding = DecodingStage()
    private var exchange: ExchangeStage?

    private var state = State.waitingToStart
    private var isSuspended = false
    private var isFull = false
    private var outstanding = Outstanding.nothing
    /// Bytes that were read before the flow stopped, still coded.
    private var backlog: [UInt8] = []
    private var bodyEnd: BodyEnd?

    private let originalURL: String
    private var destination: BodyDestination
    private var collector: BodyCollector?
    /// From the moment that there is a body to write.
    private var writer: FileWriter?
    private var isClosingFile = false
    private var buffer: UnsafeMutableRawPointer?
    private var deliveredBytes: Int64 = 0
    /// What the body took on the wire, once it is complete.
    private var wireBytes: Int64 = 0

    private let timer = LoopTimer()
    private var lastActivity: Int64 = 0
    /// When the load began; later by as much as it was suspended, for its clocks stand still meanwhile (CONN-16).
    private var startTime: Int64 = 0
    private var suspensionTime: Int64 = 0

    private enum State {
        case waitingToStart
        case waitingForConnectivity
        /// In the pool's line, connecting, sending or receiving.
        case exchanging
        /// The error is known, and the file with what came before it is being closed.
        case failing(LoadError)
        case ended
    }

    private enum Outstanding {
        case nothing
        case response
        case redirect(LoadRequest)
    }

    /// How the body ended, kept while what came before it has not been delivered.
    private enum BodyEnd {
        case complete
        case failed(LoadError)
    }

    package init(
        _ request: LoadRequest, in environment: LoadingEnvironment, destination: BodyDestination, log: EventLog?,
        client: any LoadClient
    ) {
        self.request = request
        self.environment = environment
        self.log = log
        self.client = client
        self.destination = destination
        originalURL = request.urlText
        if case .stopped(let download) = destination { resumption = ResumptionStage(download, &self.request) }
    }

    deinit {
        if let buffer { ReadBuffers.giveBack(buffer) }
    }

    // MARK: From the client

    package func start() {
        guard case .waitingToStart = state else { return }
        startTime = environment.loop.now
        record(.fetchStarted(.first))
        fetch()
    }

    /// Stops sending, receiving and the clocks (T-2).
    package func suspend() {
        guard !isSuspended, !hasEnded else { return }
        isSuspended = true
        suspensionTime = environment.loop.now
        environment.loop.disarm(timer)
        if let exchange, !exchange.hasConnection {
            exchange.cancel()
            self.exchange = nil
        }
        exchange?.setSuspended(true)
        applyFlow()
    }

    package func resume() {
        guard isSuspended, !hasEnded else { return }
        isSuspended = false
        lastActivity = environment.loop.now
        startTime += lastActivity - suspensionTime
        armTimer()
        if case .exchanging = state, exchange == nil, bodyEnd == nil, case .nothing = outstanding {
            beginExchange()
        } else {
            exchange?.setSuspended(false)
            flow()
        }
    }

    /// Ends the load with `error`, unless it has ended.
    package func cancel(_ error: LoadError) { end(error) }

    /// From now on another client is told.
    package func handOver(to client: any LoadClient) {
        if !hasEnded { self.client = client }
    }

    /// The client takes more after it said that it had enough.
    package func resumeReading() {
        guard isFull else { return }
        isFull = false
        lastActivity = environment.loop.now
        flow()
    }

    /// The client lets the response through, and may have its body go elsewhere than it said at first.
    package func answerResponse(_ destination: BodyDestination? = nil) {
        guard case .response = outstanding, !hasEnded else { return }
        outstanding = .nothing
        if let destination { self.destination = destination }
        openDestination()
        lastActivity = environment.loop.now
        flow()
    }

    /// What the client makes of a redirect: follow this request, or nil to take the redirect itself as the response.
    package func answerRedirect(_ next: LoadRequest?) {
        guard case .redirect = outstanding, !hasEnded else { return }
        outstanding = .nothing
        lastActivity = environment.loop.now
        if let next { follow(next) } else { deliverResponse() }
    }

    /// Who waits for a connection moves to the place that the priority gives him (T-19).
    package func setPriority(_ priority: Float) {
        request.priority = priority
        exchange?.setPriority(priority)
    }

    // MARK: Fetching

    private var hasEnded: Bool {
        switch state {
        case .failing, .ended: true
        case .waitingToStart, .waitingForConnectivity, .exchanging: false
        }
    }

    private func record(_ kind: LoadEvent.Kind) {
        if let log { log.record(kind, at: EventLog.now) }
    }

    private func beginFetch(_ reason: LoadEvent.FetchReason) {
        record(.fetchStarted(reason))
        fetch()
    }

    private func fetch() {
        state = .exchanging
        lastActivity = environment.loop.now
        response = nil
        bodyEnd = nil
        backlog = []
        if request.waitsForConnectivity { connectivity.begin(on: environment.loop) }
        armTimer()
        if !isSuspended { beginExchange() }
    }

    private func beginExchange() {
        let exchange = ExchangeStage(
            ExchangeRequest(request, defaults: environment), to: request.url.origin, priority: request.priority,
            for: self)
        self.exchange = exchange
        exchange.start()
    }

    // MARK: Time

    func exchangeIsActive() { lastActivity = environment.loop.now }

    private func armTimer() {
        guard !isSuspended else { return }
        environment.loop.arm(timer, at: nextDeadline, for: self)
    }

    private var nextDeadline: Int64 {
        let total = startTime.addingSeconds(request.totalTimeout)
        guard idleTimeIsRunning else {
            // A look now and then; a request that allows no time at all must not have the loop do nothing else.
            return min(total, environment.loop.now.addingSeconds(max(request.idleTimeout, 0.01)))
        }
        return min(total, lastActivity.addingSeconds(request.idleTimeout))
    }

    /// Silence counts while something of the network's is awaited: not in the line for a connection (CONN-24), not
    /// while waiting for a route (CONN-13), not while the client holds up the flow.
    private var idleTimeIsRunning: Bool {
        guard case .exchanging = state, bodyEnd == nil, isFlowing, let exchange else { return false }
        return exchange.isActive
    }

    package func timerFired(_ timer: LoopTimer) {
        let now = environment.loop.now
        if now >= startTime.addingSeconds(request.totalTimeout) { return end(.timedOut) }
        if idleTimeIsRunning, now >= lastActivity.addingSeconds(request.idleTimeout) { return end(.timedOut) }
        armTimer()
    }

    // MARK: From the exchange

    /// The response whose body is being read, once its head is here.
    private var response: LoadResponse?

    func exchangeAsks(_ question: SecurityQuestion) -> Bool { client?.load(self, asks: question) ?? false }

    func exchangeSentBody(_ bytes: Int64, total: Int64) {
        exchangeIsActive()
        client?.load(self, didSendBody: bytes, total: total)
    }

    func exchangeReceived(informational head: HTTP1ResponseHead) {
        exchangeIsActive()
        client?.load(self, didReceiveInformational: head)
    }

    func exchangeReceived(head: HTTP1ResponseHead, body: HTTP1BodyLength) {
        exchangeIsActive()
        do { try decoding.begin(head, body: body) } catch { return end(error) }
        let expected: Int64 =
            switch body {
            case .none: announcedLength(of: head)
            case .known(let length): decoding.isActive ? -1 : length
            case .chunked, .untilClose: -1
            }
        let response = LoadResponse(url: request.url, head: head, expectedLength: expected)
        self.response = response
        if head.status / 100 == 3 {
            do {
                if let next = try redirect.next(for: response, to: request) {
                    outstanding = .redirect(next)
                    applyFlow()
                    guard case .now? = client?.load(self, willRedirectTo: next, response: response) else { return }
                    // Nearly always the rest of the response has come with its head, and once that is read the next
                    // request can have its connection.
                    let answer = LoopBox({ self.answerRedirect(next) })
                    return environment.loop.post { answer.value() }
                }
            } catch { return end(error) }
        }
        if resumption != nil { deliverResumed(head) } else { deliverResponse() }
    }

    private func deliverResumed(_ head: HTTP1ResponseHead) {
        guard let decision = resumption?.decide(head), let path = resumption?.download.path else { return }
        switch decision {
        case .append(let offset, _):
            destination = .file(.existing(path: path, offset: offset))
            response?.resumedOffset = offset
            deliverResponse()
        case .replace:
            deliverResponse()
        case .restart:
            exchange?.drain()
            exchange = nil
            resumption?.restart(&request)
            beginFetch(.retry)
        case .fail(let error):
            end(error)
        }
    }

    /// What a response without a body says its length would be: a HEAD's answer tells that of the GET.
    private func announcedLength(of head: HTTP1ResponseHead) -> Int64 {
        guard request.method == "HEAD" else { return 0 }
        return max(-1, head.fields.firstValue("Content-Length").flatMap { Int64($0) } ?? -1)
    }

    private func deliverResponse() {
        guard let response, let client else { return }
        outstanding = .response
        guard case .now = client.load(self, didReceive: response) else { return applyFlow() }
        answerResponse()
    }

    private func openDestination() {
        switch destination {
        case .pieces: break
        case .whole:
            collector = BodyCollector()
            collector?.expect(response?.expectedLength ?? -1)
        case .file(let place): open(place)
        case .stopped(let download): open(.existing(path: download.path, offset: 0))
        }
    }

    private func open(_ place: FileWriter.Place) {
        let writer = FileWriter(place, on: environment.loop)
        writer.observer = self
        self.writer = writer
    }

    private func follow(_ next: LoadRequest) {
        exchange?.drain()
        exchange = nil
        response = nil
        // A stream can be read only once.
        if case .source = next.body { return end(.requestBodyStreamExhausted) }
        let priority = request.priority
        request = next
        request.priority = priority
        resumption?.ask(&request)
        beginFetch(.redirect)
    }

    func exchangeReceived(body bytes: UnsafeRawBufferPointer) {
        exchangeIsActive()
        if isFlowing, backlog.isEmpty {
            var input = bytes
            process(&input)
            if !input.isEmpty { backlog.append(contentsOf: input) }
        } else {
            backlog.append(contentsOf: bytes)
        }
    }

    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? {
        guard isFlowing, backlog.isEmpty, !decoding.isActive else { return nil }
        if collector != nil { return collector?.room(most) }
        guard let buffer = buffer ?? ReadBuffers.take() else { return nil }
        self.buffer = buffer
        return UnsafeMutableRawBufferPointer(start: buffer, count: min(most, ReadBuffers.size))
    }

    func exchangeFilled(_ count: Int) {
        guard count > 0 else { return }
        exchangeIsActive()
        if collector != nil {
            collector?.filled(count)
            collected(count)
        } else {
            deliverBuffer(count)
        }
    }

    func exchangePipe() -> Int32? {
        guard isFlowing, backlog.isEmpty, !decoding.isActive, let writer else { return nil }
        return writer.entrance
    }

    func exchangeFilledPipe(_ count: Int) {
        exchangeIsActive()
        deliveredBytes += Int64(count)
        writer?.filledEntrance(count)
        isFull = true
        applyFlow()
    }

    func exchangeEnded(bodyBytes: Int64) {
        exchangeIsActive()
        wireBytes = bodyBytes
        // Whatever becomes of the redirect, its response is over; nobody has been given any of it.
        if case .redirect = outstanding { record(.responseEnded(bytes: bodyBytes, decoded: 0)) }
        finishBody(.complete)
    }

    func exchangeFailed(_ error: LoadError, isConnecting: Bool) {
        if isConnecting {
            let meaning = ConnectivityStage.meaning(of: error)
            guard request.waitsForConnectivity, connectivity.shouldWait(after: meaning) else { return end(meaning) }
            return waitForConnectivity()
        }
        // What came before the failure is the client's (T-38).
        if response != nil { finishBody(.failed(error)) } else { end(error) }
    }

    private func waitForConnectivity() {
        exchange = nil
        state = .waitingForConnectivity
        record(.waitingForConnectivity)
        if connectivity.tellsClient() { client?.loadIsWaitingForConnectivity(self) }
        connectivity.waitForRoute(on: environment.loop) { [weak self] in
            guard let self, case .waitingForConnectivity = self.state else { return }
            self.beginFetch(.retry)
        }
    }

    // MARK: The body

    private var isFlowing: Bool {
        guard !isSuspended, !isFull, case .nothing = outstanding else { return false }
        return true
    }

    private func applyFlow() { exchange?.setPaused(!isFlowing) }

    /// Delivers what was put by and goes on reading, as far as the client wants.
    private func flow() {
        guard !hasEnded else { return }
        if isFlowing, !isDelivered {
            let put = backlog
            backlog = []
            put.withUnsafeBytes { bytes in
                var input = bytes
                process(&input)
                if !input.isEmpty { backlog = Array(input) }
            }
        }
        applyFlow()
        if isFlowing, isDelivered, let bodyEnd { complete(bodyEnd) }
    }

    /// Whether the client has all that has been read so far.
    private var isDelivered: Bool { backlog.isEmpty && !decoding.mayHoldOutput }

    private func finishBody(_ outcome: BodyEnd) {
        exchange = nil
        bodyEnd = outcome
        if isFlowing, isDelivered { complete(outcome) }
    }

    private func complete(_ outcome: BodyEnd) {
        if hasEnded || isClosingFile { return }
        switch outcome {
        case .failed(let error): end(error)
        case .complete:
            do { try decoding.finish() } catch { return end(error) }
            if let writer {
                isClosingFile = true
                return writer.close()
            }
            record(.responseEnded(bytes: wireBytes, decoded: deliveredBytes))
            end(nil)
        }
    }

    /// Delivers from the front of `input`; stops, leaving the rest, when the client has enough.
    private func process(_ input: inout UnsafeRawBufferPointer) {
        guard decoding.isActive else {
            deliver(input)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        while isFlowing, !hasEnded {
            guard let buffer = buffer ?? ReadBuffers.take() else { return end(.outOfMemory) }
            self.buffer = buffer
            do {
                let count = try decoding.decode(
                    &input, into: UnsafeMutableRawBufferPointer(start: buffer, count: ReadBuffers.size))
                if count == 0 { return }
                if collector != nil {
                    deliver(UnsafeRawBufferPointer(start: buffer, count: count))
                } else {
                    deliverBuffer(count)
                }
            } catch {
                input = UnsafeRawBufferPointer(start: nil, count: 0)
                return end(error)
            }
        }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        if collector != nil {
            guard collector?.append(bytes) == true else { return end(.outOfMemory) }
            collected(bytes.count)
        } else {
            deliver(Data(bytes: start, count: bytes.count))
        }
    }

    private func collected(_ count: Int) {
        deliveredBytes += Int64(count)
        client?.load(self, hasCollected: deliveredBytes)
    }

    /// Delivers the first `count` bytes of `buffer`: a full one goes to the client as it is, a small piece is copied
    /// and the buffer used again.
    private func deliverBuffer(_ count: Int) {
        guard let buffer else { return }
        guard count >= 16 * 1024 else { return deliver(Data(bytes: buffer, count: count)) }
        self.buffer = nil
        deliver(
            Data(bytesNoCopy: buffer, count: count, deallocator: .custom({ memory, _ in ReadBuffers.giveBack(memory) }))
        )
    }

    private func deliver(_ data: Data) {
        guard let client else { return }
        deliveredBytes += Int64(data.count)
        if !(writer?.write(data) ?? client.load(self, didReceive: data)) {
            isFull = true
            applyFlow()
        }
    }

    // MARK: The file

    package func fileWriterWrote(_ count: Int64) {
        if hasEnded { return }
        client?.load(self, hasWritten: count)
        resumeReading()
    }

    package func fileWriterClosed(_ outcome: Result<String, FileWriter.Failure>) {
        writer = nil
        switch (outcome, state) {
        case (_, .ended): break
        case (.success(let path), .failing(let error)): tellEnd(error, .stopped(path: path, resumePoint(of: path)))
        case (.failure, .failing(let error)): tellEnd(error, .nothing)
        case (.success(let path), _):
            record(.responseEnded(bytes: wireBytes, decoded: deliveredBytes))
            stop()
            tellEnd(nil, .file(path: path))
        case (.failure(let failure), _):
            stop()
            tellEnd(LoadError(failure), .nothing)
        }
    }

    // MARK: The end

    private func end(_ error: LoadError?) {
        guard !hasEnded else { return }
        stop()
        if let error, let writer {
            // What has come may be gone on with later.
            state = .failing(error)
            if !isClosingFile { writer.close() }
            return
        }
        let body = collector?.take()
        collector = nil
        if error == nil {
            tellEnd(nil, body.map { .whole($0) } ?? .nothing)
        } else if let stopped = resumption?.download {
            // Nothing has been added to what there was.
            tellEnd(error, .stopped(path: stopped.path, stopped.point))
        } else {
            tellEnd(error, .nothing)
        }
    }

    /// Where another download may go on from this one, all of which is in the file.
    private func resumePoint(of path: String) -> DownloadResumePoint? {
        guard let response else { return nil }
        return DownloadResumePoint(
            PartialDownload(
                method: request.method, originalURL: resumption?.download.point.originalURL ?? originalURL,
                url: request.urlText, requestFields: resumption?.download.point.requestFields ?? request.fields,
                status: response.head.status, responseFields: response.head.fields,
                bytesReceived: (response.resumedOffset ?? 0) + deliveredBytes,
                fileName: String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])))
    }

    /// Lets go of time and network.
    private func stop() {
        environment.loop.disarm(timer)
        connectivity.end()
        exchange?.cancel()
        exchange = nil
        backlog = []
    }

    private func tellEnd(_ error: LoadError?, _ body: LoadedBody) {
        guard let client else { return }
        state = .ended
        self.client = nil
        if let error { record(.failed(code: error.code)) }
        record(.ended)
        client.load(self, didEndWith: error, body: body)
    }
}

extension LoadError {
    fileprivate init(_ failure: FileWriter.Failure) {
        self =
            switch failure {
            case .creating(let failure): .cannotCreateFile(failure.code)
            case .opening(let failure): .cannotOpenFile(failure.code)
            case .writing(let failure): .cannotWriteToFile(failure.code)
            case .closing(let failure): .cannotCloseFile(failure.code)
            }
    }
}

extension Int64 {
    /// This time in nanoseconds plus that many seconds; never more than the far future, never less than now.
    fileprivate func addingSeconds(_ seconds: Double) -> Int64 {
        // Not `<`, so that a NaN means for ever as well.
        guard seconds < 9e9 else { return .max }
        let (sum, overflow) = addingReportingOverflow(Int64(Swift.max(0, seconds) * 1e9))
        return overflow ? .max : sum
    }
}
