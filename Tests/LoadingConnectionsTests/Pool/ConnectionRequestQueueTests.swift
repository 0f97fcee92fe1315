import LoadingEvents
import LoadingSemantics
import Testing

@testable import LoadingConnections

/// The queue of requests that wait for a connection.
@Suite struct ConnectionRequestQueueTests {
    private func request(_ priority: Float) -> ConnectionRequest {
        ConnectionRequest(
            key: ConnectionKey(isSecure: false, host: "host", port: 80), priority: priority, acceptsReused: true,
            isRepeatable: true, delegate: NoDelegate())
    }

    /// Serves the next request as a shared connection does. Returns its priority.
    private func serve(_ queue: inout ConnectionRequestQueue) -> Float? {
        guard let next = queue.first() else { return nil }
        queue.remove(next)
        return next.priority
    }

    // CONN-1
    @Test("requests are served by priority, and in order among equals") func order() {
        var queue = ConnectionRequestQueue()
        let requests = ([0.5, 0.25, 0.5, 0.75] as [Float]).map { request($0) }
        for request in requests { queue.append(request) }
        queue.setPriority(0.75, of: requests[1])
        queue.setPriority(0, of: requests[0])
        #expect(queue.requests.map(\.arrival) == [2, 4, 3, 1])
        let (first, second) = (queue.popFirst(), serve(&queue))
        #expect(first === requests[1])
        #expect(second == 0.75)
        queue.remove(requests[2])
        #expect(queue.count == 1)
        let (third, none) = (queue.popFirst(), queue.popFirst())
        #expect(third === requests[0])
        #expect(none == nil)
        #expect(queue.isEmpty)
    }

    // CONN-1, T-19: a program may give each request a priority of its own
    @Test("a served request is forgotten when those of another priority are served") func forgets() {
        var queue = ConnectionRequestQueue()
        weak var served: ConnectionRequest?
        do {
            let first = request(1)
            served = first
            queue.append(first)
        }
        _ = serve(&queue)
        queue.append(request(0.5))
        let next = serve(&queue)
        #expect(next == 0.5)
        #expect(served == nil)
    }
}

private final class NoDelegate: ConnectionRequestDelegate {
    func connectionIsBeingMade() {}
    func connectionReceived(challenge question: ConnectionChallenge) -> Bool { false }
    var proxyAuthorizer: (any ProxyAuthorizer)? { nil }
    func connectionBecameAvailable(_ connection: any HTTPExchangeStream, isReused: Bool, events: [LoadEvent]) {}
    func connectionFailed(_ failure: ConnectionFailure, events: [LoadEvent]) {}
}
