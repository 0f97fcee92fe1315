internal import Foundation
internal import LoadingTransport
internal import Synchronization

/// Asks a cache that is a class of the caller's what it has for a task, with the loop lent: it takes its time and answers
/// from any thread (CACHE-26).
final class CacheLookup: Callout {
    private let cache: URLCache
    private let task: URLSessionDataTask
    private let answer: @Sendable (CachedURLResponse?) -> Void
    private let isAnswered = Atomic(false)

    /// `answer` is called once, on any thread, or never if the cache does not answer.
    init(
        in cache: URLCache, for task: URLSessionDataTask, answer: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        self.cache = cache
        self.task = task
        self.answer = answer
    }

    func callOut() {
        cache.getCachedResponse(for: task) { [self] found in
            if !isAnswered.exchange(true, ordering: .relaxed) { answer(found) }
        }
    }
}
