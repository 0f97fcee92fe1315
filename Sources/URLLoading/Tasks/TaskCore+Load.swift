internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import Synchronization

/// The client of the task's load. On the loop.
extension TaskCore: LoadClient {
    func loadIsWaitingForConnectivity(_ load: any Load) { enqueue(.waitingForConnectivity) }

    func load(_ load: any Load, didReceiveInformational head: ResponseHead) {
        guard let url = url(of: load), wantsInformationalResponses else { return }
        enqueue(.informationalResponse(HTTPURLResponse(url, head, expectedLength: -1)))
    }

    func load(_ load: any Load, didReceive response: LoadResponse) -> ClientAnswer<Void> {
        guard let url = url(of: load) else { return .now }
        let shown = HTTPURLResponse(
            url, response.head, expectedLength: response.expectedLength, startOfBody: response.startOfBody ?? [])
        if kind.isWebSocket {
            setResponse(shown)
            note(shown)
            return receiveHandshake(response, load)
        }
        if response.isPart { locked { $0.partCount &+= 1 } }
        return receive(shown, resumedOffset: response.resumedOffset, isPart: response.isPart)
    }

    func load(_ load: any Load, didReceive response: SourceResponse) -> ClientAnswer<Void> {
        if let made = response.object as? URLResponse { return receive(made) }
        guard let url = url(of: load) else { return .now }
        return receive(
            URLResponse(
                url: url, mimeType: response.mimeType, expectedContentLength: Int(response.expectedLength),
                textEncodingName: response.textEncodingName),
            resumedOffset: response.resumedOffset)
    }

    var wantedParts: WantedParts {
        switch (kind.isData, result) {
        case (true, .delegate): .every
        case (true, .handler), (true, .continuation): .last
        // `bytes(for:)` returns one response, so parts could not be distinguished.
        default: .none
        }
    }

    private func setResponse(_ shown: URLResponse) {
        // The one before is released outside the lock: it may be of a class of the program.
        var shown: URLResponse? = shown
        locked { swap(&$0.response, &shown) }
    }

    private func receive(_ shown: URLResponse, resumedOffset: Int64? = nil, isPart: Bool = false) -> ClientAnswer<Void>
    {
        setResponse(shown)
        note(shown)
        bytesExpectedToReceive.store(shown.expectedContentLength, ordering: .sequentiallyConsistent)
        if let resumedOffset {
            noteResumption(at: resumedOffset, rest: shown.expectedContentLength)
        } else if !isPart {
            // There may have been an earlier response, whose resumption was not usable.
            bytesReceived.store(0, ordering: .sequentiallyConsistent)
        }
        updateProgress()
        switch result {
        case .feed(let feed):
            feed.receive(shown)
            return .now
        case .handler, .fileHandler, .continuation, .fileContinuation, .delivered:
            return .now
        case .delegate:
            guard kind.isData, wantsResponse else { return .now }
            enqueue(.response(shown))
            return .later
        }
    }

    func load(_ load: any Load, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> ClientAnswer<Void> {
        guard let url = url(of: load), let next = currentRequest.flatMap({ URLRequest(proposed, after: $0) }) else {
            return .now
        }
        let shown = HTTPURLResponse(url, response.head, expectedLength: response.expectedLength)
        note(shown)
        droppedFields = core.additionalFields.map(\.name).filter { !proposed.fields.contains($0) }
        guard wantsRedirects else {
            if mayUseProtocols {
                redirect(load, to: next)
                return .later
            }
            follow(next)
            return .now
        }
        enqueue(.redirect(shown, proposed: next))
        return .later
    }

    func load(_ load: any Load, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool {
        guard wantsRedirects, let url = url(of: load),
            let next = currentRequest.flatMap({ URLRequest(proposed, after: $0) })
        else { return false }
        enqueue(.uploadMove(HTTPURLResponse(url, response.head, expectedLength: -1), proposed: next))
        return true
    }

    func load(_ load: any Load, isUpgradedTo url: String) {
        guard let secure = URL(string: url), var request = currentRequest else { return }
        request.url = secure
        setCurrentRequest(request)
        if !fetches.isEmpty { fetches[fetches.count - 1].request = request }
    }

    func load(_ load: any Load, didReceive data: Data) -> Bool {
        bytesReceived.wrappingAdd(Int64(data.count), ordering: .sequentiallyConsistent)
        updateProgress()
        if case .feed(let feed) = result { return feed.append(data) }
        return enqueue(isLoadedByProtocol ? .piece(data) : .data(data), bytes: data.count)
    }

    func load(_ load: any Load, hasCollected total: Int64) {
        bytesReceived.store(total, ordering: .sequentiallyConsistent)
        updateProgress()
    }

    /// The totals include the resumed part (RES-11).
    func noteResumption(at offset: Int64, rest: Int64) {
        let expected = rest >= 0 ? offset &+ rest : NSURLSessionTransferSizeUnknown
        bytesReceived.store(offset, ordering: .sequentiallyConsistent)
        bytesExpectedToReceive.store(expected, ordering: .sequentiallyConsistent)
        if isForDelegate { enqueue(.resumed(offset: offset, expected: expected)) }
    }

    func load(_ load: any Load, hasWritten count: Int64) {
        let total = bytesReceived.wrappingAdd(count, ordering: .sequentiallyConsistent).newValue
        updateProgress()
        let isAwaited = if case .fileContinuation = result { true } else { false }
        guard isForDelegate || isAwaited, wantsWrittenData else { return }
        enqueue(
            .wroteData(count: count, total: total, expected: bytesExpectedToReceive.load(ordering: .relaxed)))
    }

    func updateProgress() {
        guard isObserved.load(ordering: .sequentiallyConsistent) else { return }
        locked { $0.progress }?.update(self)
        statusChanged()
    }

    func storeSent(_ total: Int64) {
        bytesSent.store(total, ordering: .sequentiallyConsistent)
        let isInProgress = total > 0 && total < bytesExpectedToSend.load(ordering: .relaxed)
        if isInProgress, bytesExpectedToReceive.load(ordering: .relaxed) < 0 {
            showsOnlySent.store(true, ordering: .sequentiallyConsistent)
        }
    }

    func load(_ load: any Load, didSendBody bytes: Int64, total: Int64) {
        storeSent(total)
        updateProgress()
        guard wantsSentBody else { return }
        let expected = bytesExpectedToSend.load(ordering: .relaxed)
        enqueue(.sentBody(count: bytes, total: total, expected: expected))
    }

    func load(_ load: any Load, didEndWith error: LoadError?, body: LoadedBody) {
        end(error, body: body)
    }
}
