internal import Foundation
internal import LoadingSemantics

/// What waits to be told to the caller of one task, in order, and whether somebody is on the way to tell it.
///
/// Guarded by the task's lock: the loop puts in, one delivery at a time takes out.
struct DelegateEventQueue {
    private var events: [TaskEvent] = []
    /// What came before those and may be told by the operation that is on the delegate queue.
    private var sealed: [TaskEvent] = []
    /// Told after all events.
    private var ending: TaskEnding?
    private var isEndSealed = false
    private var waitingBytes = 0
    private var isScheduled = false
    /// Handlers that were promised an answer before the end.
    private var promises = 0
    private var isOver = false
    /// Enough waits: the network is not read until most of it is taken.
    private(set) var isReadingStopped = false

    /// Bytes that may wait for the caller before reading stops; it goes on when half of them are taken.
    private static let highWater = 512 * 1024

    /// True when a delivery has to be scheduled.
    mutating func add(_ event: TaskEvent, bytes: Int) -> Bool {
        if events.isEmpty || !events[events.count - 1].absorb(event) { events.append(event) }
        waitingBytes += bytes
        if waitingBytes >= Self.highWater { isReadingStopped = true }
        return mustSchedule()
    }

    /// Whether a delivery has to be scheduled, and what is not told any more: who cancels wants nothing of what still
    /// waits for him.
    mutating func end(_ ending: TaskEnding) -> (mustSchedule: Bool, untold: [TaskEvent]) {
        var untold: [TaskEvent] = []
        if ending.error == .cancelled {
            untold = (sealed + events).filter { !$0.isAnswer }
            sealed = sealed.filter(\.isAnswer)
            events = events.filter(\.isAnswer)
        }
        self.ending = ending
        return (promises == 0 && mustSchedule(), untold)
    }

    /// Has the end wait for an answer, unless it has been told already.
    mutating func promise() -> Bool {
        if !isOver { promises += 1 }
        return !isOver
    }

    /// True when a delivery has to be scheduled.
    mutating func keepPromise(_ answer: @escaping @Sendable () -> Void) -> Bool {
        promises -= 1
        return add(.answer(answer), bytes: 0)
    }

    /// After a fork: a scheduled delivery belonged to a thread that does not exist in this process.
    mutating func deliveryIsGone() { isScheduled = false }

    private mutating func mustSchedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// All that is there now may be told by the next operation.
    mutating func seal() {
        if sealed.isEmpty {
            swap(&sealed, &events)
        } else {
            sealed += events
            events = []
        }
        isEndSealed = ending != nil
    }

    /// What to tell now; the end comes alone.
    mutating func take(_ extent: DeliveryExtent) -> (events: [TaskEvent], ending: TaskEnding?) {
        if extent == .all { seal() }
        let batch = sealed
        sealed = []
        guard batch.isEmpty, isEndDue, !isOver, let ending else { return (batch, nil) }
        isOver = true
        return (batch, ending)
    }

    /// Whether the end may be told in the same turn as the batch before it. An answer that was promised when the end
    /// was sealed, and has come since, is told first.
    var isEndDue: Bool { isEndSealed && promises == 0 && events.isEmpty }

    /// The batch has been told: whether the delivery goes on, and whether the network may be read again.
    mutating func tookBatch() -> (goesOn: Bool, mayRead: Bool) {
        isScheduled = !events.isEmpty || ending != nil && promises == 0 && !isOver
        waitingBytes = 0
        for event in events { waitingBytes += event.body?.count ?? 0 }
        let mayRead = isReadingStopped && waitingBytes < Self.highWater / 2
        if mayRead { isReadingStopped = false }
        return (isScheduled, mayRead)
    }
}
