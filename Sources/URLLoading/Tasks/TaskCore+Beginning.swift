internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// Starts a task: event log, loader, and destination of the body. On the loop.
extension TaskCore {
    func begin() {
        if let background { return beginInBackground(background) }
        guard !hasEnded, load == nil else { return }
        makeLog()
        if log?.keepsEvents == true {
            // A resumed download does not begin with the original one.
            fetches = [URLSessionTaskMetrics.Fetch(request: currentRequest ?? originalRequest)]
        }
        beginLoading()
    }

    /// The event log, if anything reads it.
    func makeLog() {
        var trace: (any EventTrace)? = core.trace?.ofTask(identifier)
        if EventDelivery.shared.isWanted { trace = TaskEvents(session: core.number, task: identifier, next: trace) }
        if let observer = core.configuration.eventObserver { trace = ObservedTrace(observer, next: trace) }
        if wantsMetrics, hasRequest {
            log = EventLog(trace: trace)
        } else if let trace {
            log = EventLog(keepsEvents: false, trace: trace)
        }
        log?.traceOnly(requestForTrace)
    }

    /// The log of the task before its load, or without one.
    private var requestForTrace: LoadEvent.Kind {
        if case .stream(let endpoint?) = kind { return .request(method: "connect", url: endpoint.description) }
        let request = currentRequest ?? originalRequest
        return .request(method: request.method, url: request.url?.absoluteString ?? "(no address)")
    }

    /// Starts the load of the current request, after its loader was selected.
    func beginLoading() {
        if case .stream(let endpoint?) = kind { return beginStream(to: endpoint) }
        if kind.isWebSocket { return beginWebSocket() }
        guard mayUseProtocols else { return beginLoading(by: nil) }
        askProtocols { [self] claimed in beginLoading(by: claimed) }
    }

    private func beginLoading(by protocolClass: URLProtocol.Type?) {
        guard !hasEnded, load == nil else { return }
        let current = currentRequest ?? originalRequest
        droppedFields = fieldsDropped(onTheWayTo: current)
        showAdditionalFields(in: current)
        do throws(LoadError) {
            let load = try makeLoad(of: current, carrying: uploadBody(of: current), claimedBy: protocolClass)
            self.load = load
            if state == .suspended { load.suspend() }
            load.start(.first)
        } catch {
            end(error, body: .nothing)
        }
    }

    /// A resumed download begins at the redirected URL, without the header fields that the redirect removed (R-9,
    ///
    func fieldsDropped(onTheWayTo current: URLRequest) -> [String] {
        guard !kind.isData, originalRequest.url != current.url else { return [] }
        return additionalFieldsDropped(from: originalRequest, to: current)
    }

    var destination: BodyDestination {
        switch (kind, result) {
        case (.download(let stopped?), _): .stopped(stopped)
        case (.download(nil), _): .file(.newFile(inFolder: core.downloadFolder))
        case (_, .delegate): kind.isData && prefersIncrementalDelivery ? .pieces : .whole
        case (_, .handler), (_, .continuation): .whole
        case (_, _): .pieces
        }
    }
}
