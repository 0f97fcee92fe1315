/// One request and its response, with the time of each phase in seconds since the task began.
package struct TransactionTimeline: Equatable, Sendable {
    package enum PhaseKind: String, Equatable, Sendable, CaseIterable {
        case queued, dns = "DNS", connect, tls = "TLS", request, wait, response
    }

    package struct Phase: Equatable, Sendable {
        package var kind: PhaseKind
        package var start: Double
        /// Nil when the phase never ended.
        package var end: Double?

        package init(_ kind: PhaseKind, _ start: Double, _ end: Double?) {
            self.kind = kind
            self.start = start
            self.end = end
        }

        package var duration: Double? { end.map { $0 - start } }
    }

    /// The dates of `URLSessionTaskTransactionMetrics`, in seconds since the task began.
    package struct Moments: Equatable, Sendable {
        package var fetchStart: Double?
        package var domainLookupStart: Double?
        package var domainLookupEnd: Double?
        package var connectStart: Double?
        package var secureConnectionStart: Double?
        package var secureConnectionEnd: Double?
        package var connectEnd: Double?
        package var requestStart: Double?
        package var requestEnd: Double?
        package var responseStart: Double?
        package var responseEnd: Double?

        package init() {}

        /// The phases in chronological order. A phase without an end is the last one.
        package var phases: [Phase] {
            var phases: [Phase] = []
            func add(_ kind: PhaseKind, _ start: Double?, _ end: Double?) {
                guard let start else { return }
                phases.append(Phase(kind, start, end.map { max(start, $0) }))
            }
            add(.queued, fetchStart, domainLookupStart ?? connectStart ?? requestStart ?? responseStart)
            add(.dns, domainLookupStart, domainLookupEnd)
            add(.connect, connectStart, secureConnectionStart ?? connectEnd)
            add(.tls, secureConnectionStart, secureConnectionEnd)
            add(.request, requestStart, requestEnd)
            // A server may respond before it has read the whole request. Then there is no wait phase.
            if let requestEnd { add(.wait, requestEnd, responseStart) }
            add(.response, responseStart, responseEnd)
            return phases
        }
    }

    package var method: String
    package var url: String
    package var status: Int?
    package var phases: [Phase]
    package var protocolName: String?
    package var remoteAddress: String?
    package var tls: String?
    package var isReusedConnection = false
    package var isProxyConnection = false
    package var isFromCache = false
    package var requestHeaderBytes: Int64 = 0
    package var requestBodyBytes: Int64 = 0
    package var responseHeaderBytes: Int64 = 0
    package var responseBodyBytes: Int64 = 0
    /// After content decoding.
    package var decodedBodyBytes: Int64 = 0

    package init(method: String, url: String, status: Int? = nil, phases: [Phase] = []) {
        self.method = method
        self.url = url
        self.status = status
        self.phases = phases
    }
}
