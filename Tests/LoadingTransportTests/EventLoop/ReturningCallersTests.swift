import Testing

@testable import LoadingTransport

/// Which callers are expected back at once. Times in the unit of the limit.
@Suite struct ReturningCallersTests {
    private var callers = ReturningCallers(limit: 10, together: 4)

    private mutating func resume(_ count: Int) {
        for _ in 0..<count { callers.noteResumption() }
    }

    /// A mutating call cannot stand in `#expect`.
    private func expect(_ expected: Bool, _ actual: Bool, _ location: SourceLocation = #_sourceLocation) {
        #expect(actual == expected, sourceLocation: location)
    }

    /// Callers come back within the limit, until more are expected to.
    private mutating func learn() {
        for time: Int64 in [0, 10] {
            resume(3)
            _ = callers.noteSleep(at: time)
            for _ in 0..<3 { _ = callers.noteReturnDuringSleep(at: time + 1) }
            callers.noteWaking()
        }
    }

    @Test("nothing waits before callers have come back") mutating func first() {
        resume(3)
        expect(false, callers.noteSleep(at: 0))
        expect(false, callers.noteReturnDuringSleep(at: 1))
    }

    @Test("the work of all but the last waits") mutating func together() {
        learn()
        resume(3)
        expect(true, callers.noteSleep(at: 20))
        let waits = (0..<3).map { _ in callers.noteReturnDuringSleep(at: 21) }
        #expect(waits == [true, true, false])
        #expect(callers.isEmpty)
    }

    @Test("not too many wait") mutating func most() {
        learn()
        resume(10)
        expect(true, callers.noteSleep(at: 20))
        let waits = (0..<10).map { _ in callers.noteReturnDuringSleep(at: 21) }
        #expect(waits == [true, true, true, false, true, true, true, false, true, false])
    }

    @Test("one caller alone does not wait") mutating func alone() {
        learn()
        resume(1)
        expect(false, callers.noteSleep(at: 20))
        expect(false, callers.noteReturnDuringSleep(at: 21))
    }

    @Test("after the limit no caller is expected") mutating func late() {
        learn()
        resume(3)
        expect(true, callers.noteSleep(at: 20))
        expect(false, callers.noteReturnDuringSleep(at: 30))
        #expect(callers.isEmpty)
        resume(3)
        expect(false, callers.noteSleep(at: 31))
    }

    @Test("callers that do not come back are no longer expected") mutating func gone() {
        learn()
        resume(3)
        expect(true, callers.noteSleep(at: 20))
        callers.noteWaking()
        resume(3)
        // The first three may still be on their way.
        expect(true, callers.noteSleep(at: 25))
        callers.noteWaking()
        expect(false, callers.noteSleep(at: 30))
        callers.noteWaking()
        expect(false, callers.noteSleep(at: 40))
        #expect(callers.isEmpty)
    }

    @Test("what comes back while the thread is awake does not wait, but counts") mutating func awake() {
        learn()
        resume(3)
        for _ in 0..<3 { callers.noteReturn() }
        #expect(callers.isEmpty)
        expect(false, callers.noteSleep(at: 20))
        resume(2)
        expect(true, callers.noteSleep(at: 30))
    }
}
