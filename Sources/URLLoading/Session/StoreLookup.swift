internal import LoadingTransport
internal import Synchronization

/// Asks a store that is a class of the caller's for something, with the loop lent: it takes its time and answers from any
/// thread (COOK-17, CACHE-26).
final class StoreLookup<Found>: Callout {
    typealias Answer = @Sendable (Found) -> Void

    private let ask: @Sendable (@escaping Answer) -> Void
    private let answer: Answer
    private let isAnswered = Atomic(false)

    /// `answer` is called once, on any thread, or never if the store does not answer.
    init(_ ask: @escaping @Sendable (@escaping Answer) -> Void, answer: @escaping Answer) {
        self.ask = ask
        self.answer = answer
    }

    func callOut() {
        ask { [self] found in
            if !isAnswered.exchange(true, ordering: .relaxed) { answer(found) }
        }
    }
}
