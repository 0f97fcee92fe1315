internal import Synchronization

/// The first answer of a method with a completion handler. A subclass of the program may override the method and call
/// the handler more than once, which would end the process with a continuation alone.
func firstAnswer<Answer: Sendable>(_ ask: (@escaping @Sendable (Answer) -> Void) -> Void) async -> Answer {
    await withCheckedContinuation { continuation in
        let once = Once()
        ask { if once.isFirst { continuation.resume(returning: $0) } }
    }
}

private final class Once: Sendable {
    private let isOver = Atomic<Bool>(false)

    /// True for the first one that asks.
    var isFirst: Bool { !isOver.exchange(true, ordering: .relaxed) }
}
