internal import Foundation
internal import LoadingEvents

extension URLSessionTaskMetrics {
    /// A request of a task and its response.
    struct Fetch {
        var request: URLRequest
        var response: URLResponse?
    }

    /// The metrics of a task, computed from its event log. All monotonic times are converted with one reading of the
    /// wall clock, so that no phase is negative (MET-19).
    ///
    /// - Parameter wall: Returns the current time in seconds since the reference date. Called once, because the clock
    ///   may be set meanwhile.
    convenience init(
        _ log: EventLog, created: Int64, fetches: [Fetch],
        wall: () -> TimeInterval = { Date().timeIntervalSinceReferenceDate }
    ) {
        let clock = DateClock(wall: wall(), monotonic: EventLog.now)
        var transactions: [(fetch: Int, record: TransactionRecord)] = []
        var redirects = 0
        var requests = 0
        var fetchTime = created
        for var event in log.events {
            // The connection attempt may have begun earlier, for another task (MET-2).
            event.time = max(event.time, fetchTime)
            if case .fetchStarted(let reason) = event.kind {
                if reason == .redirect { redirects += 1 }
                if reason == .redirect || reason == .authentication || reason == .cache { requests += 1 }
                var record = TransactionRecord()
                record.fetchStart = clock.date(event.time)
                fetchTime = event.time
                record.resourceFetchType = .networkLoad
                // A retry fetches the same request again.
                if let last = transactions.last, last.fetch == requests { record.ownRequest = last.record.ownRequest }
                transactions.append((requests, record))
            } else if !transactions.isEmpty {
                transactions[transactions.count - 1].record.apply(event, clock)
            }
        }
        let start = clock.date(created)
        let end = max(start, clock.date(log.events.last?.time ?? created))
        self.init(
            transactionMetrics: transactions.indices.compactMap { index in
                let fetch = transactions[index].fetch
                var record = transactions[index].record
                guard fetches.indices.contains(fetch) else { return nil }
                // The response of a resumed upload is that of its last request.
                let isFollowed =
                    transactions.indices.contains(index + 1) && transactions[index + 1].fetch == fetch
                    && transactions[index + 1].record.ownRequest != nil
                // A transaction that failed has no response (MET-16).
                let hasResponse =
                    record.responseHeaderBytesReceived != nil || record.resourceFetchType == .localCache
                if hasResponse, !record.hasFailed, !isFollowed {
                    record.response = fetches[fetch].response
                }
                let request = fetches[fetch].request.resuming(record.ownRequest)
                return URLSessionTaskTransactionMetrics(request: request, record: record)
            },
            taskInterval: DateInterval(start: start, end: end), redirectCount: redirects)
    }
}

extension URLRequest {
    /// The request by which an upload resumes, as far as it is known.
    fileprivate func resuming(_ other: (method: String, url: String)?) -> URLRequest {
        guard let other, let url = URL(string: other.url) else { return self }
        var request = self
        request.url = url
        request.httpMethod = other.method
        return request
    }
}

/// Converts monotonic times into dates.
private struct DateClock {
    let wall: TimeInterval
    let monotonic: Int64

    func date(_ time: Int64) -> Date {
        Date(timeIntervalSinceReferenceDate: wall + Double(time - monotonic) / 1e9)
    }
}

extension TransactionRecord {
    fileprivate mutating func apply(_ event: LoadEvent, _ clock: DateClock) {
        let date = clock.date(event.time)
        switch event.kind {
        case .resolutionStarted: domainLookupStart = date
        case .resolutionEnded: domainLookupEnd = date
        case .connectStarted: if connectStart == nil { connectStart = date }
        case .connectEnded: connectEnd = date
        case .secureConnectionStarted:
            secureConnectionStart = date
            // `connectEnd` includes TLS (MET-5).
            connectEnd = nil
        case .secureConnectionEnded(let version, let cipherSuite):
            secureConnectionEnd = date
            connectEnd = date
            negotiatedTLSProtocolVersion = version
            negotiatedTLSCipherSuite = cipherSuite
        case .connectionAssigned(let facts): apply(facts)
        case .servedFromCache: resourceFetchType = .localCache
        case .request(let method, let url): ownRequest = (method, url)
        case .requestStarted: requestStart = date
        case .messageHead(let head): apply(head)
        case .requestHeadSent(let bytes): requestHeaderBytesSent = (requestHeaderBytesSent ?? 0) + bytes
        case .requestEnded(let bytes, let content):
            requestEnd = date
            requestBodyBytesSent = bytes
            requestBodyBytesBeforeEncoding = content
        case .responseStarted: responseStart = date
        case .responseHead(_, let isHTTP10, let bytes):
            responseHeaderBytesReceived = bytes
            if isHTTP10 { networkProtocolName = "http/1.0" }
        case .responseEnded(let bytes, let decoded):
            responseEnd = date
            responseBodyBytesReceived = bytes
            responseBodyBytesAfterDecoding = decoded
        case .exchangeBroken(let sent, let content, let received):
            if requestEnd == nil {
                requestBodyBytesSent = sent
                requestBodyBytesBeforeEncoding = content
            }
            if responseEnd == nil { responseBodyBytesReceived = received }
        case .failed(_, let decoded):
            hasFailed = true
            responseBodyBytesAfterDecoding = decoded
        case .fetchStarted, .waitingForConnectivity, .informationalResponse, .ended, .cacheDecision,
            .cookiesSent, .cookiesReceived, .cookieDecision, .challenge, .challengeAnswered, .serverTrust, .taskFailed,
            .taskEnded, .webSocketOpened, .webSocketClosed, .webSocketMessage, .webSocketPing, .webSocketCloses:
            break
        }
    }

    private mutating func apply(_ head: MessageHead) {
        switch head.start {
        case .request: requestHead = head
        case .response(let status, _): if status >= 200 || status == 101 { responseHead = head }
        }
    }

    private mutating func apply(_ facts: ConnectionFacts) {
        networkProtocolName = facts.protocolName
        isReusedConnection = facts.isReused
        isProxyConnection = facts.isProxied
        isMultipath = facts.isMultipath
        localAddress = facts.localAddress
        localPort = facts.localPort
        remoteAddress = facts.remoteAddress
        remotePort = facts.remotePort
        negotiatedTLSProtocolVersion = facts.tlsVersion
        negotiatedTLSCipherSuite = facts.tlsCipherSuite
    }
}
