import LoadingEvents
import LoadingSemantics
import Testing

@testable import LoadingConnections

/// The line of requests that wait for a connection.
@Suite struct WaitingLineTests {
    private func request(_ priority: Float) -> ConnectionRequest {
        ConnectionRequest(
            key: ConnectionKey(isSecure: false, host: "host", port: 80), priority: priority, acceptsReused: true,
            isRepeatable: true, delegate: Nobody())
    }

    /// Serves the next request as a shared connection does. Returns its priority.
    private func serve(_ line: inout WaitingLine) -> Float? {
        guard let next = line.first() else { return nil }
        line.remove(next)
        return next.priority
    }

    // CONN-1
    @Test("requests are served by priority, and in order among equals") func order() {
        var line = WaitingLine()
        let requests = ([0.5, 0.25, 0.5, 0.75] as [Float]).map { request($0) }
        for request in requests { line.append(request) }
        line.setPriority(0.75, of: requests[1])
        line.setPriority(0, of: requests[0])
        #expect(line.requests.map(\.arrival) == [2, 4, 3, 1])
        let (first, second) = (line.popFirst(), serve(&line))
        #expect(first === requests[1])
        #expect(second == 0.75)
        line.remove(requests[2])
        #expect(line.count == 1)
        let (third, none) = (line.popFirst(), line.popFirst())
        #expect(third === requests[0])
        #expect(none == nil)
        #expect(line.isEmpty)
    }

    // CONN-1, T-19: a program may give each request a priority of its own
    @Test("a served request is forgotten when those of another priority are served") func forgets() {
        var line = WaitingLine()
        weak var served: ConnectionRequest?
        do {
            let first = request(1)
            served = first
            line.append(first)
        }
        _ = serve(&line)
        line.append(request(0.5))
        let next = serve(&line)
        #expect(next == 0.5)
        #expect(served == nil)
    }
}

private final class Nobody: ConnectionRequestDelegate {
    func connectionIsBeingMade() {}
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool { false }
    var proxyAuthorizer: (any ProxyAuthorizer)? { nil }
    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent]) {}
    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent]) {}
}
