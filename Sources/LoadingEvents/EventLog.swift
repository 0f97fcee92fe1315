internal import CLoadingLinux

/// What happened to one load, in order, each event with its time. Metrics, waterfalls, HAR files and debug logs are
/// all read from it.
///
/// A load that nobody watches has no log, and then an event costs one comparison with nil. Confined to the load's loop
/// until the load has ended; immutable from then on.
package final class EventLog: @unchecked Sendable {
    // Sendable because it is written by one loop only, and handed on after the last event.

    package private(set) var events: [LoadEvent] = []
    /// Whether the events are kept, for metrics; else they are only traced.
    package let keepsEvents: Bool
    private let trace: (any EventTrace)?
    /// A load that is redirected or retried for ever must not grow its log for ever.
    private static let most = 4096

    /// - Parameter trace: Hears of each event at once, however many there are.
    package init(keepsEvents: Bool = true, trace: (any EventTrace)? = nil) {
        self.keepsEvents = keepsEvents
        self.trace = trace
    }

    /// The time of the monotonic clock, in nanoseconds.
    package static var now: Int64 { cll_now() }

    package var isTraced: Bool { trace != nil }
    package var tracesHeads: Bool { trace?.wantsHeads == true }

    package func record(_ kind: LoadEvent.Kind, at time: Int64) {
        if let trace { trace.receive(LoadEvent(time: time, kind: kind)) }
        guard keepsEvents, events.count < Self.most else { return }
        events.append(LoadEvent(time: time, kind: kind))
    }

    /// For events that nothing but a trace reads: not made without one, and never kept.
    package func traceOnly(_ kind: @autoclosure () -> LoadEvent.Kind) {
        if let trace { trace.receive(LoadEvent(time: Self.now, kind: kind())) }
    }
}

/// Hears of the events of a load when they are recorded, on the load's loop.
package protocol EventTrace: AnyObject {
    /// Whether it wants the heads of requests and responses as well.
    var wantsHeads: Bool { get }
    func receive(_ event: LoadEvent)
}
