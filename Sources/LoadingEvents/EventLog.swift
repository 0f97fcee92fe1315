internal import CLoadingLinux

/// What happened to one load, in order, each event with its time. Metrics, waterfalls, HAR files and debug logs are
/// all read from it.
///
/// A load that nobody watches has no log, and then an event costs one comparison with nil. Confined to the load's loop
/// until the load has ended; immutable from then on.
package final class EventLog: @unchecked Sendable {
    // Sendable because it is written by one loop only, and handed on after the last event.

    package private(set) var events: [LoadEvent] = []
    /// A load that is redirected or retried for ever must not grow its log for ever.
    private static let most = 4096

    package init() {}

    /// The time of the monotonic clock, in nanoseconds.
    package static var now: Int64 { cll_now() }

    package func record(_ kind: LoadEvent.Kind, at time: Int64) {
        guard events.count < Self.most else { return }
        events.append(LoadEvent(time: time, kind: kind))
    }
}
