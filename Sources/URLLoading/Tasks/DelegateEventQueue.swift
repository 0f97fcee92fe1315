internal import Foundation
internal import LoadingSemantics

/// The undelivered events of one task, in order, and whether a delivery is scheduled.
///
/// Guarded by the task's lock. The loop adds events; one delivery at a time takes them.
struct DelegateEventQueue {
    private var events: [TaskEvent] = []
    /// Earlier events, for the operation that is on the delegate queue.
    private var sealed: [TaskEvent] = []
    /// Delivered after all events.
    private var ending: TaskEnding?
    private var isEndSealed = false
    private var waitingBytes = 0
    private var isScheduled = false
    /// The number of completion handlers that must be called before the end.
    private var promises = 0
    /// Answers to the callers of `async` methods, which are resumed without the queue.
    private var resumptions: [TaskAnswer] = []
    /// Whether a call is due that resumes them.
    private var isResuming = false
    /// Whether a batch of events was taken that is being delivered.
    private var isDelivering = false
    private var isOver = false
    /// Whether reading from the network has stopped, because too many bytes are waiting.
    private(set) var isReadingStopped = false

    /// The number of waiting bytes at which reading stops. It resumes below half of that.
    private static let highWater = 512 * 1024
    /// The capacity, in events, up to which the memory of a delivered batch is used again.
    private static let spareCapacity = 4
    /// The number of waiting events from which on a report of an upload's progress (104) replaces the one before it. A
    /// server may send as many as it likes, and over HTTP/2 and HTTP/3 no window holds them back.
    private static let reportMergeThreshold = 256

    /// True if a delivery must be scheduled.
    mutating func add(_ event: consuming TaskEvent, bytes: Int) -> Bool {
        if let replaced = indexOfReport(replacedBy: event) {
            events[replaced] = event
        } else if events.isEmpty || !events[events.count - 1].absorb(event) {
            events.append(event)
        }
        waitingBytes += bytes
        if waitingBytes >= Self.highWater { isReadingStopped = true }
        return mustSchedule()
    }

    /// The report that an event replaces. Progress of the body may follow it, which would separate the reports else.
    private func indexOfReport(replacedBy event: borrowing TaskEvent) -> Int? {
        guard events.count >= Self.reportMergeThreshold, event.isUploadReport else { return nil }
        let last = events.count - 1
        if events[last].isUploadReport { return last }
        guard case .sentBody = events[last], events[last - 1].isUploadReport else { return nil }
        return last - 1
    }

    /// Adds the end. Returns whether a delivery must be scheduled, and the events that a cancellation drops.
    mutating func end(_ ending: TaskEnding) -> (mustSchedule: Bool, dropped: [TaskEvent]) {
        var dropped: [TaskEvent] = []
        if let error = ending.error, error == .cancelled {
            dropped = (sealed + events).filter { !$0.isAnswer }
            sealed = sealed.filter(\.isAnswer)
            events = events.filter(\.isAnswer)
        }
        self.ending = ending
        return (promises == 0 && mustSchedule(), dropped)
    }

    /// Makes the end wait for a handler's call, unless the end was delivered already.
    mutating func promise() -> Bool {
        if !isOver { promises += 1 }
        return !isOver
    }

    /// True if a delivery must be scheduled.
    mutating func keepPromise(_ answer: consuming TaskAnswer) -> Bool {
        promises = max(0, promises - 1)
        return add(.answer(answer), bytes: 0)
    }

    /// Adds a promised answer for the caller of an `async` method. Nil if events are undelivered, which must precede
    /// it; otherwise whether a call must be made due that resumes the caller. An end that is scheduled waits for it.
    mutating func addResumption(_ answer: TaskAnswer) -> Bool? {
        if isDelivering || !events.isEmpty || !sealed.isEmpty { return nil }
        resumptions.append(answer)
        defer { isResuming = true }
        return !isResuming
    }

    mutating func takeResumptions() -> [TaskAnswer] {
        isResuming = false
        defer { resumptions = [] }
        return resumptions
    }

    /// As many callers were resumed. True if a delivery of the end must be scheduled.
    mutating func resumed(_ count: Int) -> Bool {
        promises = max(0, promises - count)
        return ending != nil && promises == 0 && !isOver && mustSchedule()
    }

    /// After a fork: the thread of a scheduled delivery does not exist in this process, nor what would make the
    /// promised calls.
    mutating func deliveryIsGone() {
        isScheduled = false
        isDelivering = false
        isResuming = false
        promises = 0
    }

    private mutating func mustSchedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Assigns all current events to the next operation.
    mutating func seal() {
        if sealed.isEmpty {
            swap(&sealed, &events)
        } else {
            sealed += events
            events = []
        }
        isEndSealed = ending != nil
    }

    /// The next batch of events.
    mutating func take(_ extent: DeliveryExtent) -> [TaskEvent] {
        if extent == .all { seal() }
        var batch: [TaskEvent] = []
        swap(&batch, &sealed)
        isDelivering = !batch.isEmpty
        return batch
    }

    /// The end, if it is next. It is delivered alone, after a delivery has found no more events.
    mutating func takeEnding() -> TaskEnding? {
        guard isEndDue, sealed.isEmpty, !isOver, let ending else { return nil }
        isOver = true
        return ending
    }

    /// Whether the end may be delivered in the same turn as the batch before it. Handlers' calls that were promised
    /// when the end was sealed, and have arrived since, precede it.
    var isEndDue: Bool { isEndSealed && promises == 0 && events.isEmpty }

    /// The batch was delivered. Returns whether more is to be delivered, and whether reading may resume.
    ///
    /// - Parameter spare: The batch's memory, without events, which is used again if it is small.
    mutating func tookBatch(_ spare: consuming [TaskEvent] = []) -> (hasMore: Bool, mayRead: Bool) {
        isDelivering = false
        if events.isEmpty, spare.capacity <= Self.spareCapacity { swap(&events, &spare) }
        isScheduled = !events.isEmpty || ending != nil && promises == 0 && !isOver
        waitingBytes = 0
        for event in events { waitingBytes += event.body?.count ?? 0 }
        let mayRead = isReadingStopped && waitingBytes < Self.highWater / 2
        if mayRead { isReadingStopped = false }
        return (isScheduled, mayRead)
    }
}
