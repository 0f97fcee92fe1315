internal import FoundationEssentials
internal import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
internal import LoadingTransport

/// The body of the response, from the exchange to the sink and from the sink to the client, and the end of the load.
extension HTTPLoad: BodySinkOwner {
    // MARK: From the exchange

    func exchangeReceived(body bytes: UnsafeRawBufferPointer) {
        noteActivity()
        sink.receive(bytes)
        if sink.backlogCount >= Self.mostChallengeBody { applyFlow() }
    }

    func exchangeFilled(_ count: Int) {
        guard count > 0 else { return }
        noteActivity()
        sink.filled(count)
    }

    func exchangeFilledPipe(_ count: Int) {
        noteActivity()
        sink.filledPipe(count)
    }

    // MARK: Flow

    func applyFlow() { exchange?.setPaused(!sink.isFlowing) }

    /// Delivers the backlog and continues reading, as far as the client accepts.
    func flow() {
        if machine.hasEnded { return }
        if cache.served != nil { return deliverServed() }
        sink.deliverBacklog()
        applyFlow()
        completeIfDelivered()
    }

    /// Delivers the body of a stored response after the client has accepted the response.
    private func deliverServed() {
        guard sink.isFlowing, let body = cache.served else { return }
        cache.served = nil
        if !body.isEmpty { sink.deliver(body) }
        // Without memory for the body the load has ended.
        if !machine.hasEnded { finishBody(.complete) }
    }

    func finishBody(_ end: LoadMachine.ResponseEnd) {
        exchange = nil
        machine.apply(.responseEnds(end))
        if !deliverAwaitedResponse() { completeIfDelivered() }
    }

    // MARK: From the sink

    var mayDeliverBody: Bool { machine.mayDeliverBody }

    func bodySink(delivers data: Data) -> Bool {
        guard let client else { return true }
        if cache.isGathering, !cache.gather(data) { stopGathering() }
        return client.load(self, didReceive: data)
    }

    func bodySinkHasCollected(_ total: Int64) { client?.load(self, hasCollected: total) }

    func bodySinkHasWritten(_ count: Int64) {
        // The bytes received before a failure count (T-38).
        if machine.failure?.code != LoadError.cancelled.code { client?.load(self, hasWritten: count) }
    }

    // MARK: Parts

    var wantedParts: WantedParts { client?.wantedParts ?? .none }

    /// Whether the response has parts and the client takes them. The first part then delivers the response (MISC-23).
    func beginParts(of response: LoadResponse) -> Bool {
        guard !partsAreOver, MultipartStage.mayBeMultipart(response.head.fields),
            let parts = MultipartStage(response)
        else { return false }
        if wantedParts == .none {
            // A body as received is complete only with its last delimiter too.
            if response.endsWithConnection { sink.followedParts = parts }
            return false
        }
        sink.parts = parts
        stopGathering()
        machine.apply(.deliversParts)
        flow()
        return true
    }

    func bodySink(begins part: LoadResponse) -> ClientAnswer<Void> {
        guard case .later? = client?.load(self, didReceive: part) else { return .now }
        machine.apply(.asks(.response))
        applyFlow()
        return .later
    }

    // MARK: The end

    private func completeIfDelivered() {
        guard machine.stage == .body, sink.isFlowing, sink.isDelivered, let end = machine.responseEnd else { return }
        switch end {
        case .failed(let error): self.end(error)
        case .complete:
            if let error = resumption?.error(after: sink.deliveredBytes) { return self.end(error) }
            do {
                try sink.finishDecoding()
                if case .none = try sink.finishParts(endsWithConnection: response?.endsWithConnection == true) {
                    partsAreOver = true
                    if asksAboutWhole() { return }
                }
            } catch { return self.end(error) }
            complete()
        }
    }

    /// A response that was expected to have parts had none and is an ordinary one. True if the client has to answer
    /// first.
    private func asksAboutWhole() -> Bool {
        guard let response, let client else { return true }
        machine.apply(.asks(.response))
        guard case .now = client.load(self, didReceive: response), machine.receive(.acceptsResponse) else {
            return true
        }
        sink.open(expectedLength: response.expectedLength)
        return false
    }

    private func complete() {
        guard machine.receive(.completes(withFile: sink.writer != nil)), sink.closeFile() else { return }
        log?.record(.responseEnded(bytes: wireBytes, decoded: sink.deliveredBytes))
        collectedBody = sink.takeCollected()
        if !storesResponse(collectedBody) { end(nil) }
    }

    /// Called when the decision on storing the response has been carried out.
    package func finishStoring() {
        environment.loop.checkConfinement(of: "A load")
        if machine.stage == .storing { end(nil) }
    }

    func bodySinkClosedFile(_ outcome: Result<String, FileWriter.Failure>) {
        switch (outcome, machine.failure) {
        case (.success(let path), let error?): reportEnd(error, .stopped(path: path, resumePoint(of: path)))
        case (.failure, let error?): reportEnd(error, .nothing)
        case (.failure(.opening), nil) where resumption?.mayRestart == true: restart()
        case (.success(let path), nil):
            log?.record(.responseEnded(bytes: wireBytes, decoded: sink.deliveredBytes))
            stop()
            reportEnd(nil, .file(path: path))
        case (.failure(let failure), nil):
            stop()
            reportEnd(LoadError(failure), .nothing)
        }
    }

    // MARK: Stopped downloads

    /// The partial file is missing, or shorter than recorded: the whole body is loaded again.
    private func restart() {
        guard let folder = sink.destination.folder else { return }
        exchange?.cancel()
        exchange = nil
        sink.restart(.file(.newFile(inFolder: folder)))
        resumption?.restart(&request)
        fetch(.retry)
    }

    /// The path of the file that is being written. Nil before the first write.
    package var filePath: String? { sink.writer?.path }

    package var resumePointUnderWay: DownloadResumePoint? {
        guard machine.isLoading else { return nil }
        return filePath.flatMap { resumePoint(of: $0) }
    }

    /// The point at which another download may resume. All bytes received so far are in the file.
    private func resumePoint(of path: String) -> DownloadResumePoint? {
        guard let response else { return nil }
        let offset = response.resumedOffset ?? 0
        return DownloadResumePoint(
            PartialDownload(
                method: request.method, originalURL: resumption?.download.point.originalURL ?? originalURL,
                url: request.urlText, requestFields: resumption?.download.point.requestFields ?? request.fields,
                status: response.head.status, responseFields: response.head.fields, responseOffset: offset,
                bytesReceived: offset + sink.deliveredBytes,
                fileName: FileWriter.name(of: path)))
    }
}
