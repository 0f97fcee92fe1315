import LoadingEvents
import Testing

/// What a load records.
@Suite struct EventLogTests {
    private final class Trace: EventTrace {
        let wantsHeads = false
        var events: [LoadEvent] = []

        func receive(_ event: LoadEvent) { events.append(event) }
    }

    private static let ofConnection = [
        LoadEvent(time: 1, kind: .secureConnectionStarted),
        LoadEvent(time: 2, kind: .serverTrust(.trusted("a.example", by: .system))),
        LoadEvent(time: 3, kind: .secureConnectionEnded(version: 0x0304, cipherSuite: 0x1301)),
    ]

    // MISC-28, MET-2: metrics have no use for it
    @Test("the trust in a server is traced with its time, and not stored") func trust() {
        let trace = Trace()
        let log = EventLog(trace: trace)
        log.append(Self.ofConnection)
        #expect(trace.events == Self.ofConnection)
        #expect(log.events == [Self.ofConnection[0], Self.ofConnection[2]])
    }

    // MISC-28
    @Test("a log that is only traced stores nothing") func tracedOnly() {
        let trace = Trace()
        let log = EventLog(keepsEvents: false, trace: trace)
        log.append(Self.ofConnection)
        log.record(.ended, at: 4)
        #expect(trace.events == Self.ofConnection + [LoadEvent(time: 4, kind: .ended)])
        #expect(log.events == [])
    }
}
