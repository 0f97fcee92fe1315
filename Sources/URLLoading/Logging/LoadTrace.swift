internal import LoadingEvents

/// Converts the events of a task into log lines.
///
/// No level logs secrets: user information, queries and fragments of URLs, and values of `SecretFields`. Bodies are
/// never logged.
struct LoadTrace {
    let level: TraceLevel
    /// The prefix of each line: the numbers of session and task.
    private let name: String
    /// Method and URL of the last `LoadEvent.request`, possibly of an earlier transaction.
    private var request = ""
    private var transaction: Transaction?
    /// Whether a line has named the request.
    private var hasNamedRequest = false

    /// The maximum number of logged fields per head.
    private static let mostFields = 100

    init(level: TraceLevel, name: String) {
        self.level = level
        self.name = name
    }

    mutating func lines(of event: LoadEvent) -> [String] {
        var lines: [String] = []
        switch event.kind {
        case .fetchStarted:
            lines += endTransaction(isComplete: false)
            transaction = Transaction(start: event.time)
        case .request(let method, let url):
            let request = "\(method) \(TraceText.address(url))"
            if request != self.request { hasNamedRequest = false }
            self.request = request
        case .ended: lines += endTransaction(isComplete: true)
        case .taskFailed(let code, let reason):
            lines += endTransaction(isComplete: false)
            lines.append("\(hasNamedRequest ? "task" : request): failed \(code), \(reason)")
        default: transaction?.apply(event)
        }
        if level >= .phases, let transaction, let words = Self.words(event.kind, request: request) {
            // The connection attempt may have begun earlier, for another task.
            let time = TraceText.milliseconds(max(0, event.time - transaction.start))
            lines.append("+\(time) ms \(words)")
        }
        if level >= .phases, case .messageHead(let head) = event.kind { lines += self.lines(of: head) }
        return lines.map { TraceText.line("\(name) \($0)") }
    }

    private mutating func endTransaction(isComplete: Bool) -> [String] {
        guard let transaction else { return [] }
        self.transaction = nil
        hasNamedRequest = true
        return ["\(request): \(transaction.summary(isComplete: isComplete))"]
    }

    private func lines(of head: MessageHead) -> [String] {
        let mark: String
        var lines: [String]
        switch head.start {
        case .request(let method, let target):
            mark = ">"
            lines = ["> \(method) \(TraceText.address(target)) \(head.version)"]
        case .response(let status, _):
            mark = "<"
            lines = ["< \(head.version) \(status)"]
        }
        for field in head.fields.prefix(Self.mostFields) {
            let value = level >= .values ? TraceText.value(field.value, of: field.name) : TraceText.hidden
            lines.append("\(mark) \(field.name): \(value)")
        }
        let rest = head.fields.count - Self.mostFields
        if rest > 0 { lines.append("\(mark) and \(rest) more fields") }
        return head.isOfTunnel ? lines.map { "proxy \($0)" } : lines
    }

    /// The text of an event that has its own line at level `phases`.
    static func words(_ event: LoadEvent.Kind, request: String) -> String? {
        switch event {
        case .fetchStarted(let reason): "begins: \(reason)"
        case .request: request
        case .waitingForConnectivity: "waits for connectivity"
        case .cacheDecision(let decision, let reason): "cache: \(decision), because: \(reason)"
        case .servedFromCache: "cache: served"
        case .cookiesSent(let count): "cookies: \(count) sent"
        case .cookiesReceived(let count): "cookies: \(count) received"
        case .cookieDecision(let name, let decision, let reason):
            "cookie: \(name) \(decision)" + (reason.map { ", because: \($0)" } ?? "")
        case .resolutionStarted(let host): "DNS: looks up \(host)"
        case .resolutionEnded(let addresses): "DNS: \(addresses) addresses"
        case .connectStarted(let address): "connect: \(address)"
        case .connectEnded: "connect: done"
        case .secureConnectionStarted: "TLS: handshake"
        case .secureConnectionEnded(let version, let suite): "TLS: \(TraceText.tls(version, suite))"
        case .connectionAssigned(let facts): "connection: \(facts.protocolName), \(TraceText.connection(facts))"
        case .challenge(let method, let host, let port, let isProxy, let failures):
            "challenge: \(method) of \(isProxy ? "proxy " : "")\(host):\(port), \(failures) refused before"
        case .challengeAnswered(let disposition): "challenge: \(disposition)"
        case .serverTrust(let result): words(result)
        case .requestHeadSent(let bytes): "request: head sent, \(bytes) bytes"
        case .requestEnded(let bytes, _): "request: sent, \(bytes) bytes of body"
        case .informationalResponse(let status): "response: interim \(status)"
        case .responseStarted: "response: first byte"
        case .responseHead(let status, _, let bytes): "response: \(status), \(bytes) bytes of head"
        case .responseEnded(let bytes, let decoded): "response: ended, \(bytes) bytes of body, \(decoded) decoded"
        case .exchangeBroken(let sent, _, let received):
            "exchange: broken off, \(sent) bytes of body sent, \(received) received"
        case .failed(let code, _): "failed: \(code)"
        case .webSocketOpened(let subprotocol, let isCompressed):
            // Which one may be a token (`SecretFields`).
            "WebSocket: open\(subprotocol == nil ? "" : ", with a subprotocol")\(isCompressed ? ", compressed" : "")"
        case .webSocketMessage(let isSent, let isText, let bytes):
            "WebSocket: \(isSent ? "sent" : "received") \(isText ? "text" : "binary"), \(bytes) bytes"
        case .webSocketPing(let isSent): "WebSocket: \(isSent ? "ping sent" : "pong received")"
        case .webSocketCloses(let code): "WebSocket: closes, \(code)"
        case .webSocketClosed(let code): "WebSocket: close frame received, \(code)"
        // Logged elsewhere.
        case .requestStarted, .messageHead, .ended, .taskFailed, .taskEnded: nil
        }
    }

    private static func words(_ result: ServerTrustResult) -> String {
        let decider =
            switch result.decider {
            case .system: "the system's roots"
            case .additionalAuthority: "an authority of the session"
            case .delegate: "the delegate"
            case .evaluation: "the evaluation of its certificates"
            case .transportSecurity: "App Transport Security"
            }
        return "trust: \(result.host) \(result.isTrusted ? "trusted" : "refused") by \(decider)"
            + (result.reason.map { ", because: \($0)" } ?? "")
    }
}

extension LoadTrace {
    /// The data of one request and its response.
    private struct Transaction {
        let start: Int64
        private var end: Int64
        private var status: Int?
        private var failure: Int?
        private var isFromCache = false
        private var protocolName: String?
        private var connection: ConnectionFacts?
        private var dns = Phase()
        private var connect = Phase()
        private var tls = Phase()
        private var sending = Phase()
        private var waiting = Phase()
        private var receiving = Phase()
        private var sent: (head: Int64, body: Int64) = (0, 0)
        private var received: (head: Int64, body: Int64, decoded: Int64) = (0, 0, 0)

        private struct Phase {
            var start: Int64?
            var end: Int64?

            /// Nanoseconds; nil if the phase has not ended.
            var duration: Int64? {
                guard let start, let end else { return nil }
                return max(0, end - start)
            }
        }

        init(start: Int64) {
            self.start = start
            end = start
        }

        mutating func apply(_ event: LoadEvent) {
            let time = max(event.time, start)
            end = max(end, time)
            switch event.kind {
            case .resolutionStarted: dns.start = time
            case .resolutionEnded: dns.end = time
            case .connectStarted: if connect.start == nil { connect.start = time }
            case .connectEnded: connect.end = time
            case .secureConnectionStarted: tls.start = time
            case .secureConnectionEnded: tls.end = time
            case .connectionAssigned(let facts):
                connection = facts
                protocolName = facts.protocolName
            case .servedFromCache: isFromCache = true
            case .requestStarted: sending.start = time
            case .requestHeadSent(let bytes): sent.head += bytes
            case .requestEnded(let bytes, _):
                sent.body = bytes
                sending.end = time
                waiting.start = time
            case .responseStarted:
                waiting.end = time
                receiving.start = time
            case .responseHead(let status, let isHTTP10, let bytes):
                self.status = status
                received.head = bytes
                if isHTTP10 { protocolName = "http/1.0" }
            case .responseEnded(let bytes, let decoded):
                received.body = bytes
                received.decoded = decoded
                receiving.end = time
            case .exchangeBroken(let sent, _, let received):
                if sending.end == nil { self.sent.body = sent }
                if receiving.end == nil { self.received.body = received }
            case .failed(let code, let decoded):
                failure = code
                received.decoded = decoded
            default: break
            }
        }

        func summary(isComplete: Bool) -> String {
            var parts: [String] = []
            if let status { parts.append("\(status)") }
            if isFromCache { parts.append("from the cache") }
            if let failure { parts.append("failed \(failure)") }
            if parts.isEmpty { parts.append(isComplete ? "done" : "no response") }
            if let protocolName { parts.append(protocolName) }
            if let connection { parts.append(TraceText.connection(connection)) }
            if sent.head + sent.body > 0 { parts.append("sent \(sent.head)+\(sent.body) bytes") }
            if received.head + received.body > 0 { parts.append("received \(received.head)+\(received.body) bytes") }
            if received.decoded != received.body { parts.append("\(received.decoded) decoded") }
            let phases = [
                ("dns", dns), ("connect", connect), ("tls", tls), ("send", sending), ("wait", waiting),
                ("receive", receiving),
            ].compactMap { name, phase in phase.duration.map { "\(name) \(TraceText.milliseconds($0))" } }
            let total = TraceText.milliseconds(end - start) + " ms"
            parts.append(phases.isEmpty ? total : "\(total) (\(phases.joined(separator: ", ")))")
            return parts.joined(separator: ", ")
        }
    }
}
