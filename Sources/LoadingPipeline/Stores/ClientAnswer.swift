package import LoadingTransport
internal import Synchronization

/// The answer of a client or a store.
package enum ClientAnswer<Value> {
    case now(Value)
    /// A method of the load, or a `PendingLookup`, receives the answer later.
    case later
}

extension ClientAnswer where Value == Void {
    package static var now: Self { .now(()) }
}

/// A lookup whose answer can be withdrawn.
protocol WithdrawableLookup: AnyObject {
    /// The answer is no longer needed. Called on the loop.
    func withdraw()
}

/// Receives an answer that a store gives later, from any thread. Only the first answer counts. The load withdraws the
/// lookup at its end, because a disk, or a store that the program has written, may never answer.
package final class PendingLookup<Value: Sendable>: WithdrawableLookup, @unchecked Sendable {
    // Sendable because `take` is confined to the loop.
    private let loop: EventLoop
    private let isAnswered = Atomic(false)
    private var take: ((Value) -> Void)?

    /// `take` is called on the loop, once or never.
    package init(on loop: EventLoop, _ take: @escaping (Value) -> Void) {
        self.loop = loop
        self.take = take
    }

    package func answer(_ value: Value) {
        if isAnswered.exchange(true, ordering: .relaxed) { return }
        loop.post {
            let take = self.take
            self.take = nil
            take?(value)
        }
    }

    func withdraw() { take = nil }
}
