import Foundation
import TestSupport
import Testing
import URLLoading

/// Requests that are repeated because their connection was lost.
@Suite(.leavesNothing) struct RetryConnectionTests {
    // CONN-10, CONN-1: it has to wait for another request, and does not get that one's connection
    @Test("a repeated request uses a new connection although another is idle")
    func aRepeatedRequestUsesANewConnectionAlthoughAnotherIsIdle() async throws {
        let isWaiting = Signal("the second request in the line")
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                // Only a connection's first request is answered.
                guard connection.record.requests.count == 1 else {
                    try connection.wait(for: isWaiting)
                    return connection.close()
                }
                try connection.send(.text("x"), to: request)
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        session.dataTask(with: server.url("/lost")).resume()
        try await server.waitForRequests(2)
        session.dataTask(with: server.url("/waiting")).resume()
        // A waiter is known to wait once a call that was made later has come.
        await session.flush()
        isWaiting.fire()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.count { if case .completed(_, nil) = $0 { true } else { false } } == 3)
        #expect(server.connections.map { $0.requests.map(\.path) } == [["/first", "/lost"], ["/waiting"], ["/lost"]])
    }
}
