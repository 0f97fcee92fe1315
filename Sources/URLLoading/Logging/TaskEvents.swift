internal import Foundation
internal import LoadingEvents

/// Makes `URLSessionEvent`s of a task for the process's handler. Confined to the session's loop.
final class TaskEvents: EventTrace {
    private let session: Int
    private let task: Int
    private let next: (any EventTrace)?
    private let began = EventLog.now
    private var transactionBegan: Int64?
    /// Of the present transaction.
    private var method = ""
    private var url = ""
    private var facts: [String: String] = [:]

    /// - Parameter next: Gets the events too.
    init(session: Int, task: Int, next: (any EventTrace)?) {
        self.session = session
        self.task = task
        self.next = next
    }

    var wantsHeads: Bool { next?.wantsHeads == true }

    func receive(_ event: LoadEvent) {
        switch event.kind {
        // A transaction before a redirect, a challenge or a retry has no end of its own.
        case .fetchStarted, .ended, .taskFailed, .taskEnded: endTransaction(at: event.time)
        default: break
        }
        note(event)
        if let (name, attributes) = described(event.kind) {
            add(name, at: event.time, message(event.kind) ?? name.rawValue, attributes)
        }
        next?.receive(event)
    }

    private func endTransaction(at time: Int64) {
        guard transactionBegan != nil else { return }
        let result = facts["error.type"].map { "failed \($0)" } ?? facts["http.response.status_code"] ?? "done"
        add(
            .transactionEnded, at: time, "\(method) \(url): \(result)",
            facts.merging(requestFacts) { fact, _ in fact })
        transactionBegan = nil
    }

    /// The values of the end of the transaction.
    private func note(_ event: LoadEvent) {
        switch event.kind {
        case .fetchStarted:
            transactionBegan = event.time
            facts = [:]
        case .request(let method, let url): (self.method, self.url) = (method, TraceText.address(url))
        case .connectionAssigned(let connection): facts["network.protocol.name"] = connection.protocolName
        case .responseHead(let status, _, _): facts["http.response.status_code"] = "\(status)"
        case .failed(let code, _): facts["error.type"] = "\(code)"
        case .servedFromCache: facts["cache"] = "served"
        default: break
        }
    }

    private func add(
        _ name: URLSessionEvent.Name, at time: Int64, _ message: String, _ attributes: [String: String]
    ) {
        let isTaskEnd = name == .taskEnded
        let start = isTaskEnd ? began : transactionBegan ?? began
        let level: URLSessionEvent.Level =
            switch name {
            case .transactionEnded: .info
            case .taskEnded: attributes["error.type"] == nil ? .info : .warning
            default: .debug
            }
        EventDelivery.shared.add(
            URLSessionEvent(
                name: name, level: level,
                date: Date(timeIntervalSinceNow: -Double(max(0, EventLog.now - time)) / 1e9),
                elapsed: .nanoseconds(max(0, time - start)), session: session, task: task,
                message: TraceText.line(message), attributes: attributes))
    }

    private func message(_ kind: LoadEvent.Kind) -> String? {
        switch kind {
        case .taskFailed(let code, let reason): "\(method) \(url): failed \(code), \(reason)"
        case .taskEnded: "\(method) \(url): complete"
        default: LoadTrace.words(kind, request: "\(method) \(url)")
        }
    }

    private func described(_ kind: LoadEvent.Kind) -> (URLSessionEvent.Name, [String: String])? {
        switch kind {
        case .fetchStarted(let reason): (.transactionBegan, ["reason": "\(reason)"])
        case .request: (.request, ["http.request.method": method, "url.full": url])
        case .waitingForConnectivity: (.waitingForConnectivity, [:])
        case .cacheDecision(let decision, let reason): (.cacheDecision, ["decision": decision, "reason": reason])
        case .servedFromCache: (.cacheServed, [:])
        case .cookiesSent(let count): (.cookiesSent, ["count": "\(count)"])
        case .cookiesReceived(let count): (.cookiesReceived, ["count": "\(count)"])
        case .cookieDecision(let name, let decision, let reason):
            (
                .cookieDecision,
                ["name": name, "decision": decision].merging(reason.map { ["reason": $0] } ?? [:]) { $1 }
            )
        case .resolutionStarted(let host): (.resolutionBegan, ["server.address": host])
        case .resolutionEnded(let count): (.resolutionEnded, ["count": "\(count)"])
        case .connectStarted(let address): (.connectBegan, ["network.peer.address": address])
        case .connectEnded: (.connectEnded, [:])
        case .secureConnectionStarted: (.secureConnectionBegan, [:])
        case .secureConnectionEnded(let version, let suite):
            (
                .secureConnectionEnded,
                ["tls.protocol.version": TraceText.version(version), "tls.cipher": "0x\(String(suite, radix: 16))"]
            )
        case .connectionAssigned(let connection): (.connection, attributes(of: connection))
        case .challenge(let method, let host, let port, _, let failures):
            (
                .challenge,
                ["method": method, "server.address": host, "server.port": "\(port)", "failures": "\(failures)"]
            )
        case .challengeAnswered(let disposition): (.challengeAnswered, ["disposition": disposition])
        case .serverTrust(let result):
            (
                .serverTrust,
                [
                    "server.address": result.host, "decision": result.isTrusted ? "trusted" : "refused",
                    "by": result.decider.rawValue,
                ].merging(result.reason.map { ["reason": $0] } ?? [:]) { $1 }
            )
        case .requestHeadSent(let bytes): (.requestHeadSent, ["bytes": "\(bytes)"])
        case .requestEnded(let bytes, _): (.requestEnded, ["bytes": "\(bytes)"])
        case .informationalResponse(let status): (.informationalResponse, ["http.response.status_code": "\(status)"])
        case .responseStarted: (.responseBegan, [:])
        case .responseHead(let status, _, let bytes):
            (.responseHead, ["http.response.status_code": "\(status)", "bytes": "\(bytes)"])
        case .responseEnded(let bytes, let decoded):
            (.responseEnded, ["bytes": "\(bytes)", "decoded": "\(decoded)"])
        case .webSocketOpened: (.webSocketOpened, [:])
        case .webSocketMessage(let isSent, _, let bytes):
            (.webSocketMessage, ["sent": "\(isSent)", "bytes": "\(bytes)"])
        case .webSocketCloses(let code): (.webSocketClosed, ["sent": "true", "code": "\(code)"])
        case .webSocketClosed(let code): (.webSocketClosed, ["sent": "false", "code": "\(code)"])
        case .taskFailed(let code, _): (.taskEnded, requestFacts.merging(["error.type": "\(code)"]) { _, new in new })
        case .taskEnded: (.taskEnded, requestFacts)
        // What matters of them is in the end of the transaction.
        case .requestStarted, .exchangeBroken, .failed, .ended, .webSocketPing, .messageHead: nil
        }
    }

    private var requestFacts: [String: String] {
        var facts = ["http.request.method": method]
        if let host = URL(string: url)?.host { facts["server.address"] = host }
        return facts
    }

    private func attributes(of connection: ConnectionFacts) -> [String: String] {
        var attributes = ["network.protocol.name": connection.protocolName, "reused": "\(connection.isReused)"]
        attributes["network.peer.address"] = connection.remoteAddress
        attributes["network.peer.port"] = connection.remotePort.map { "\($0)" }
        return attributes
    }
}
