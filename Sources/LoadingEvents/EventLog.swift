internal import CLoadingLinux

/// The events of one load, in order. Metrics, waterfalls, HAR files and traces are made from them.
///
/// A load without observers has no log, and then an event costs one comparison with nil. Confined to the load's loop
/// until the load has ended, immutable from then on.
package final class EventLog: @unchecked Sendable {
    // Sendable because only one loop writes, and the log is passed on after the last event.

    package private(set) var events: [LoadEvent] = []
    /// Whether events are stored, for metrics. Otherwise they are only traced.
    package let keepsEvents: Bool
    private let trace: (any EventTrace)?
    /// Bounds the log of a load that is redirected or retried very often.
    private static let most = 4096

    /// - Parameter trace: Receives every event at once, without the limit of the log.
    package init(keepsEvents: Bool = true, trace: (any EventTrace)? = nil) {
        self.keepsEvents = keepsEvents
        self.trace = trace
    }

    /// The monotonic clock, in nanoseconds.
    package static var now: Int64 { cll_now() }

    package var isTraced: Bool { trace != nil }
    package var tracesHeads: Bool { trace?.wantsHeads == true }

    package func record(_ kind: LoadEvent.Kind) { record(kind, at: Self.now) }

    package func record(_ kind: LoadEvent.Kind, at time: Int64) {
        if let trace { trace.receive(LoadEvent(time: time, kind: kind)) }
        guard keepsEvents, events.count < Self.most else { return }
        events.append(LoadEvent(time: time, kind: kind))
    }

    /// Passes an event to the trace only. Without a trace it is not created.
    package func traceOnly(_ kind: @autoclosure () -> LoadEvent.Kind) {
        if let trace { trace.receive(LoadEvent(time: Self.now, kind: kind())) }
    }

    /// Appends the events of a connection. What is only traced is not stored.
    package func append(_ events: [LoadEvent]) {
        for event in events {
            if case .serverTrust = event.kind { trace?.receive(event) } else { record(event.kind, at: event.time) }
        }
    }
}

/// Receives the events of a load when they are recorded, on the load's loop.
package protocol EventTrace: AnyObject {
    /// Whether the heads of requests and responses are traced too.
    var wantsHeads: Bool { get }
    func receive(_ event: LoadEvent)
}
