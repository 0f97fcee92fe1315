internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The beginning of a task: its log, its loader and the destination of its body. On the loop.
extension TaskCore {
    func begin() {
        guard !hasEnded, load == nil else { return }
        makeLog()
        if log?.keepsEvents == true { fetches = [URLSessionTaskMetrics.Fetch(request: originalRequest)] }
        beginWhenDue()
    }

    /// If anything reads it.
    func makeLog() {
        let trace = core.trace?.ofTask(identifier)
        if wantsMetrics, hasRequest {
            log = EventLog(trace: trace)
        } else if let trace {
            log = EventLog(keepsEvents: false, trace: trace)
        }
        log?.traceOnly(requestForTrace)
    }

    /// What a log says of the task until there is a load, or if there never is one.
    private var requestForTrace: LoadEvent.Kind {
        if case .stream(let endpoint?) = kind { return .request(method: "connect", url: endpoint.description) }
        let request = currentRequest ?? originalRequest
        return .request(method: request.method, url: request.url?.absoluteString ?? "(no address)")
    }

    /// Begins to load the current request, once it is known who loads it.
    func beginLoading() {
        if case .stream(let endpoint?) = kind { return beginStream(to: endpoint) }
        guard core.hasProtocols else { return beginLoading(by: nil) }
        askProtocols { [self] claimed in beginLoading(by: claimed) }
    }

    private func beginLoading(by protocolClass: URLProtocol.Type?) {
        guard !hasEnded, load == nil else { return }
        let current = currentRequest ?? originalRequest
        droppedFields = fieldsDropped(onTheWayTo: current)
        do throws(LoadError) {
            let load = try makeLoad(of: current, carrying: uploadBody(of: current), claimedBy: protocolClass)
            self.load = load
            if state == .suspended { load.suspend() }
            load.start(.first)
        } catch {
            end(error, body: .nothing)
        }
    }

    /// A download that goes on begins where a redirect once led: what that took off stays off.
    private func fieldsDropped(onTheWayTo current: URLRequest) -> [String] {
        guard !kind.isData, originalRequest.url != current.url else { return [] }
        return additionalFieldsDropped(from: originalRequest, to: current)
    }

    var destination: BodyDestination {
        switch (kind, result) {
        case (.download(let stopped?), _): .stopped(stopped)
        case (.download(nil), _): .file(.newFile(inFolder: core.downloadFolder))
        case (_, .delegate): prefersIncrementalDelivery ? .pieces : .whole
        case (_, .handler), (_, .continuation): .whole
        case (_, _): .pieces
        }
    }
}
