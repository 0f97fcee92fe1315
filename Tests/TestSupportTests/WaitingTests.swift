import TestSupport
import Testing

@Suite struct WaitingTests {
    @Test("a signal releases waits that began before and after it") func aSignalReleasesWaitsBeforeAndAfter()
        async throws
    {
        let signal = Signal("go")
        async let waiting: Void = signal.wait()
        signal.fire()
        signal.fire()
        try await waiting
        try await signal.wait()
        #expect(signal.isFired)
    }

    @Test("a recorder gives events in order, by count, by event and by condition")
    func aRecorderGivesEventsInOrderByCountByEventAndByCondition() async throws {
        let recorder = EventRecorder<Int>()
        async let two = recorder.waitFor(count: 2)
        async let three = recorder.wait(for: 3)
        async let even = recorder.waitUntil("an even event") { $0.contains { $0.isMultiple(of: 2) } }
        for event in 1...3 { recorder.record(event) }
        #expect(try await two.prefix(2) == [1, 2])
        #expect(try await three == [1, 2, 3])
        #expect(try await even.prefix(2) == [1, 2])
        #expect(recorder.events == [1, 2, 3])
    }

    @Test("a deadline names what was awaited and what was seen") func aDeadlineNamesWhatWasAwaitedAndWhatWasSeen()
        async throws
    {
        let recorder = EventRecorder<String>()
        recorder.record("a")
        let failure = await #expect(throws: DeadlineExceeded.self) {
            try await recorder.wait(for: "b", within: .milliseconds(10))
        }
        #expect(
            failure?.description == #"waited 0.01 seconds in vain for the event b; seen until then: ["a"]"#)
    }

    @Test("a cancelled wait ends at once") func aCancelledWaitEndsAtOnce() async throws {
        let signal = Signal()
        let task = Task { try await signal.wait() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
