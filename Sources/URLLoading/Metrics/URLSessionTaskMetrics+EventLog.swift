internal import Foundation
internal import LoadingEvents

extension URLSessionTaskMetrics {
    /// The metrics of a task, read from its log. One clock reading of the wall turns all monotonic times into dates, so
    /// that no phase comes out negative (MET-19).
    convenience init(_ log: EventLog, created: Int64, requests: [URLRequest], response: URLResponse?) {
        let clock = DateClock()
        var transactions: [TransactionRecord] = []
        var redirects = 0
        for event in log.events {
            if case .fetchStarted(let reason) = event.kind {
                if reason == .redirect { redirects += 1 }
                var record = TransactionRecord()
                record.fetchStart = clock.date(event.time)
                record.resourceFetchType = .networkLoad
                transactions.append(record)
            } else if !transactions.isEmpty {
                transactions[transactions.count - 1].apply(event, clock)
            }
        }
        if let response, !transactions.isEmpty, transactions[transactions.count - 1].responseEnd != nil {
            transactions[transactions.count - 1].response = response
        }
        let start = clock.date(created)
        let end = max(start, clock.date(log.events.last?.time ?? created))
        // A retry fetches the same request again.
        var index = -1
        var fetched: [URLRequest] = []
        for event in log.events {
            guard case .fetchStarted(let reason) = event.kind else { continue }
            if reason != .retry { index += 1 }
            if let request = index < requests.count ? requests[max(0, index)] : requests.last {
                fetched.append(request)
            }
        }
        self.init(
            transactionMetrics: zip(fetched, transactions).map {
                URLSessionTaskTransactionMetrics(request: $0, record: $1)
            },
            taskInterval: DateInterval(start: start, end: end), redirectCount: redirects)
    }
}

/// Turns monotonic times into dates.
private struct DateClock {
    private let wall = Date().timeIntervalSinceReferenceDate
    private let monotonic = EventLog.now

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
            // A connection ends with its TLS (MET-5).
            connectEnd = nil
        case .secureConnectionEnded(let version, let cipherSuite):
            secureConnectionEnd = date
            connectEnd = date
            negotiatedTLSProtocolVersion = version
            negotiatedTLSCipherSuite = cipherSuite
        case .connectionAssigned(let facts): apply(facts)
        case .requestStarted: requestStart = date
        case .requestHeadSent(let bytes): requestHeaderBytesSent = (requestHeaderBytesSent ?? 0) + bytes
        case .requestEnded(let bytes):
            requestEnd = date
            requestBodyBytesSent = bytes
            requestBodyBytesBeforeEncoding = bytes
        case .responseStarted: responseStart = date
        case .responseHead(_, let bytes): responseHeaderBytesReceived = bytes
        case .responseEnded(let bytes, let decoded):
            responseEnd = date
            responseBodyBytesReceived = bytes
            responseBodyBytesAfterDecoding = decoded
        case .fetchStarted, .waitingForConnectivity, .informationalResponse, .failed, .ended: break
        }
    }

    private mutating func apply(_ facts: ConnectionFacts) {
        networkProtocolName = facts.protocolName
        isReusedConnection = facts.isReused
        isProxyConnection = false
        localAddress = facts.localAddress
        localPort = facts.localPort
        remoteAddress = facts.remoteAddress
        remotePort = facts.remotePort
        negotiatedTLSProtocolVersion = facts.tlsVersion
        negotiatedTLSCipherSuite = facts.tlsCipherSuite
    }
}
