internal import LoadingEvents

/// Passes the events of a task to the session's `eventObserver`, and to the log if there is one. Confined to the
/// session's loop.
final class ObservedTrace: EventTrace {
    private let observer: @Sendable (LoadEvent) -> Void
    private let next: (any EventTrace)?

    init(_ observer: @escaping @Sendable (LoadEvent) -> Void, next: (any EventTrace)?) {
        self.observer = observer
        self.next = next
    }

    var wantsHeads: Bool { next?.wantsHeads == true }

    func receive(_ event: LoadEvent) {
        observer(event)
        next?.receive(event)
    }
}
