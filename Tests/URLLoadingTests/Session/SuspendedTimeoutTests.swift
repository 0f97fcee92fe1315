import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

@Suite(.leavesNothing) struct SuspendedTimeoutTests {
    // T-2, C-7: neither a load that begins suspended has a clock, nor one that is suspended again
    @Test("the timeouts of suspended tasks pause") func timeoutsPause() async throws {
        let (silence, early) = (Signal("the end"), Signal("the time of the silent one is over"))
        // A task may have sent its request before it is suspended, and is not to be over then.
        let server = try ScriptedServer.answering { request in
            CannedResponse.text("x").held(until: request.path == "/silent" ? silence : early)
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let stepped = try SteppedLoop()
        let session = URLSession(delegate) {
            $0.loop = stepped.loop
            $0.timeoutIntervalForResource = 50
            $0.httpMaximumConnectionsPerHost = 50
        }
        // Some are suspended before they begin, some after.
        let tasks = (0..<20).map { _ in session.dataTask(with: server.url("/")) }
        for task in tasks {
            task.resume()
            task.suspend()
        }
        // It begins later than they, and its time is as long: when it is over, theirs would be too.
        session.dataTask(with: server.url("/silent")).resume()
        try await stepped.step(by: TimeLimits.seconds(50))
        let before = try await delegate.calls(untilCompletions: 1)
        #expect(before.filter(\.isCompletion) == [.completed(21, .timedOut)])
        early.fire()
        // The loop sees most of them suspended twice in a row.
        for task in tasks {
            task.resume()
            task.suspend()
        }
        await session.flush()
        for task in tasks { task.resume() }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            Set(calls.filter(\.isCompletion).map { "\($0)" })
                == Set((1...20).map { "\(Call.completed($0, nil))" } + ["\(Call.completed(21, .timedOut))"]))
        silence.fire()
    }
}
