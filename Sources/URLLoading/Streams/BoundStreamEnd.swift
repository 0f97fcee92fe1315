internal import Foundation

/// The state of one of two bound streams, and the place of its events.
final class BoundStreamEnd: @unchecked Sendable {
    // Sendable: the variables are guarded by the condition of the `BoundPipe`, except `stream`, which is set before it
    // is shared.

    weak var stream: Stream?
    let schedule = CallbackSchedule(waitsForRunLoop: true)
    /// Says that `read` or `write` returns at once.
    let readyEvent: Stream.Event
    /// What becomes of this end after the other one was closed.
    let last: (event: Stream.Event, status: Stream.Status)

    var status = Stream.Status.notOpen
    /// The delegate gets no event twice, the ready event not until the stream was used.
    var deliveredEvents: Stream.Event = []
    var isCallbackDue = false

    init(ready: Stream.Event, last: (event: Stream.Event, status: Stream.Status)) {
        readyEvent = ready
        self.last = last
    }
}
