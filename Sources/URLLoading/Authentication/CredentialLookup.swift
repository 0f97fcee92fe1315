internal import Foundation
internal import LoadingEvents
internal import LoadingTransport

/// Asks a storage for the default credential of a space, with the loop lent: a storage may be a class of the caller's,
/// which takes its time and answers from any thread (AUTH-25).
final class CredentialLookup: Callout, @unchecked Sendable {
    // Sendable because `spellings` and `found` are guarded by `lock`.

    private let storage: URLCredentialStorage
    private let task: URLSessionTask
    private let answer: @Sendable (URLCredential?) -> Void
    private let lock = Lock()
    /// Still to be asked for.
    private var spellings: ArraySlice<URLProtectionSpace>
    /// How often the storage was asked; only its first answer to the last question counts.
    private var questions = 0

    /// `answer` is called once, on any thread, or never if the storage does not answer.
    init(
        _ spellings: [URLProtectionSpace], in storage: URLCredentialStorage, for task: URLSessionTask,
        answer: @escaping @Sendable (URLCredential?) -> Void
    ) {
        self.spellings = spellings[...]
        self.storage = storage
        self.task = task
        self.answer = answer
    }

    func callOut() { askNext() }

    private func askNext() {
        let (space, question) = lock.withLock {
            questions += 1
            return (spellings.popFirst(), questions)
        }
        guard let space else { return answer(nil) }
        storage.getDefaultCredential(for: space, task: task) { [self] found in
            let isFirst = lock.withLock {
                guard question == questions else { return false }
                if found != nil { questions += 1 }
                return true
            }
            guard isFirst else { return }
            if let found { answer(found) } else { askNext() }
        }
    }
}
