internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import Synchronization

/// Passes events to the process's `eventHandler`, on a queue of its own. Thread-safe.
final class EventDelivery: @unchecked Sendable {
    // Sendable: `lock` guards what is mutable.
    static let shared = {
        let shared = EventDelivery()
        // Once, and not with each handler: two threads that set one could do it in another order than that of their
        // handlers.
        StandardError.observe { shared.add(URLSessionEvent(message: $0)) }
        return shared
    }()

    /// Whether there is a handler. Events are not made without one.
    private let hasHandler = Atomic(false)
    private let lock = Lock()
    private var current: (@Sendable (URLSessionEvent) -> Void)?
    /// How often the handler was exchanged.
    private var exchanges = 0
    private var waiting: [URLSessionEvent] = []
    private var lost = 0
    private var isScheduled = false
    private let queue = DispatchQueue(label: "URLSession events", qos: .utility)
    /// Bounds the memory: about 4 MB.
    private static let most = 8192

    var isWanted: Bool { hasHandler.load(ordering: .relaxed) }

    var handler: (@Sendable (URLSessionEvent) -> Void)? {
        get { lock.withLock { current } }
        set {
            // The old one is released without the lock, because that may run the program's code.
            let old = lock.withLock { exchange(newValue) }
            withExtendedLifetime(old) {}
        }
    }

    private func exchange(
        _ new: (@Sendable (URLSessionEvent) -> Void)?
    ) -> (@Sendable (URLSessionEvent) -> Void)? {
        defer {
            current = new
            exchanges += 1
            (waiting, lost) = ([], 0)
            hasHandler.store(new != nil, ordering: .relaxed)
        }
        return current
    }

    /// - Returns: Whether there is a handler for it.
    @discardableResult
    func add(_ event: URLSessionEvent) -> Bool {
        // The queue's threads do not exist in a forked process.
        if ForkedProcess.isCurrent { return false }
        let (isWanted, mustSchedule) = lock.withLock { () -> (Bool, Bool) in
            guard current != nil else { return (false, false) }
            guard waiting.count < Self.most else {
                lost += 1
                return (true, false)
            }
            waiting.append(event)
            defer { isScheduled = true }
            return (true, !isScheduled)
        }
        if mustSchedule { queue.async { self.deliver() } }
        return isWanted
    }

    private func deliver() {
        while let (handler, events, number) = next() {
            // The handler may be exchanged in between.
            for event in events where lock.withLock({ exchanges == number }) { handler(event) }
        }
    }

    /// The handler, its next events, and the number of exchanges.
    private func next() -> (@Sendable (URLSessionEvent) -> Void, [URLSessionEvent], Int)? {
        lock.withLock {
            guard let current, !waiting.isEmpty else {
                isScheduled = false
                return nil
            }
            defer { (waiting, lost) = ([], 0) }
            return (current, waiting + (lost > 0 ? [URLSessionEvent(lost: lost)] : []), exchanges)
        }
    }
}

extension URLSessionEvent {
    init(message: String) {
        self.init(
            name: .message, level: .error, date: Date(), elapsed: .zero, session: nil, task: nil,
            message: TraceText.line(message), attributes: [:])
    }

    fileprivate init(lost: Int) {
        self.init(
            name: .eventsLost, level: .error, date: Date(), elapsed: .zero, session: nil, task: nil,
            message: "\(lost) events are missing here, because the handler was too slow",
            attributes: ["count": "\(lost)"])
    }
}
