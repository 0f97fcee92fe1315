internal import Foundation
internal import LoadingTransport
internal import Synchronization

/// Asks a storage that is a class of the caller's for the cookies of a task, with the loop lent: it takes its time and
/// answers from any thread (COOK-17).
final class CookieLookup: Callout {
    private let storage: HTTPCookieStorage
    private let task: URLSessionTask
    private let answer: @Sendable ([HTTPCookie]) -> Void
    private let isAnswered = Atomic(false)

    /// `answer` is called once, on any thread, or never if the storage does not answer.
    init(
        in storage: HTTPCookieStorage, for task: URLSessionTask, answer: @escaping @Sendable ([HTTPCookie]) -> Void
    ) {
        self.storage = storage
        self.task = task
        self.answer = answer
    }

    func callOut() {
        storage.getCookiesFor(task) { [self] cookies in
            if !isAnswered.exchange(true, ordering: .relaxed) { answer(cookies ?? []) }
        }
    }
}
