import Foundation
import TestSupport
import Testing
import URLLoading

/// Which tasks a session lists (T-60, S-87).
@Suite(.leavesNothing) struct OutstandingTasksTests {
    // T-60
    @Test("all that were made and have not ended") func allThatWereMadeAndHaveNotEnded() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering { request in
            request.path == "/held" ? CannedResponse.text("x").held(until: held) : .text("x")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let ended = session.dataTask(with: server.url())
        ended.resume()
        _ = try await delegate.calls(untilCompletions: 1)
        let running = session.dataTask(with: server.url("/held"))
        running.resume()
        let suspended = session.dataTask(with: server.url("/held"))
        suspended.resume()
        suspended.suspend()
        let new = session.dataTask(with: server.url("/held"))
        let handled = session.dataTask(with: server.url("/held")) { _, _, _ in }
        _ = session.dataTask(with: server.url("/forgotten"))
        #expect(await session.allTasks == [running, suspended, new, handled])
        let (data, uploads, downloads) = await session.tasks
        #expect(data == [running, suspended, new, handled])
        #expect(uploads.isEmpty)
        #expect(downloads.isEmpty)
        held.fire()
        session.invalidateAndCancel()
        _ = try await delegate.callsUntilInvalid()
        #expect(await session.allTasks == [])
    }

    // T-11: identifiers are of one session
    @Test("identifiers start at one in each session") func identifiersStartAtOneInEachSession() throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let sessions = (0..<2).map { _ in URLSession { _ in } }
        #expect(sessions.map { $0.dataTask(with: url).taskIdentifier } == [1, 1])
        #expect(sessions.map { $0.dataTask(with: url).taskIdentifier } == [2, 2])
        for session in sessions { session.invalidateAndCancel() }
    }

    // S-28
    @Test("a label") func aLabel() {
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        #expect(session.sessionDescription == nil)
        session.sessionDescription = "label"
        #expect(session.sessionDescription == "label")
    }
}
