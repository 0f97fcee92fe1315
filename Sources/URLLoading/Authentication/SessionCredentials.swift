internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The credential storage of a session, for the engine. Confined to the session's loop.
final class SessionCredentials: CredentialStore {
    private let storage: URLCredentialStorage
    private let loop: EventLoop

    init(_ storage: URLCredentialStorage, on loop: EventLoop) {
        self.storage = storage
        self.loop = loop
    }

    func defaultCredential(
        for space: ProtectionSpace, of client: any LoadClient, _ lookup: PendingLookup<ProposedCredential?>
    ) -> ClientAnswer<ProposedCredential?> {
        let spellings = URLProtectionSpace(space).spellings(of: space)
        guard let task = (client as? TaskCore)?.heldTask else {
            // A transfer of another program, whose storage is a plain one. It is read from the disk.
            guard client is Transfer else { return .now(nil) }
            loop.callOut(
                CalledOut { [storage] in
                    let found = spellings.lazy.compactMap { storage.defaultCredential(for: $0) }.first
                    lookup.answer(found.map { ProposedCredential(user: $0.user, password: $0.password, object: $0) })
                })
            return .later
        }
        loop.callOut(
            CredentialLookup(spellings, in: storage, for: task) { found in
                lookup.answer(found.map { ProposedCredential(user: $0.user, password: $0.password, object: $0) })
            })
        return .later
    }

    func store(_ credential: LoadCredential, for space: ProtectionSpace, of client: any LoadClient) {
        guard let given = credential.object as? ChallengeCredential, let core = client as? TaskCore else { return }
        // The storage contains it, or the program has removed it meanwhile.
        if given.isStored { return }
        let space = URLProtectionSpace(space)
        if core.result.usesQueue || !core.delegates.isEmpty {
            // Before the response, so that the storage contains the credential when the delegate gets the response.
            core.enqueue(.credential(given, space))
        } else if let task = core.heldTask {
            core.core.loop.callOut(CalledOut { [storage] in storage.store(given, for: space, task) })
        }
    }

    /// Whether the program has not removed the credential meanwhile. Subclasses are not queried, because they may be
    /// slow.
    func mayUse(_ credential: LoadCredential, for space: ProtectionSpace) -> Bool {
        guard type(of: storage) == URLCredentialStorage.self else { return true }
        return URLProtectionSpace(space).spellings(of: space).contains { space in
            storage.credentials(for: space)?.values.contains {
                $0.user == credential.user && $0.password == credential.password
            } == true
        }
    }
}

/// A credential that a load uses to answer a challenge.
final class ChallengeCredential: Sendable {
    let credential: URLCredential
    /// Whether it came from the storage.
    let isStored: Bool
    /// The storage's removal count at that time.
    let removalsBefore: Int

    init(_ credential: URLCredential, isStored: Bool, removalsBefore: Int) {
        self.credential = credential
        self.isStored = isStored
        self.removalsBefore = removalsBefore
    }
}

extension URLCredentialStorage {
    /// Stores an accepted credential (AUTH-22), as the default unless the program has set another user's. Does nothing
    /// if it was removed after it was used, so that a logout during the request is effective.
    func store(_ given: ChallengeCredential, for space: URLProtectionSpace, _ task: URLSessionTask) {
        let credential = given.credential
        if type(of: self) == URLCredentialStorage.self {
            return keepAccepted(credential, for: space, unlessRemovedAfter: given.removalsBefore)
        }
        getDefaultCredential(for: space, task: task) { [self] known in
            if hasRemoved(credential, for: space, after: given.removalsBefore) { return }
            if known == nil || known?.user == credential.user {
                setDefaultCredential(credential, for: space, task: task)
            } else {
                set(credential, for: space, task: task)
            }
        }
    }
}

/// Queries a storage for the default credential of a space, with the loop lent: a subclass may be slow and answer on
/// any thread (AUTH-25).
private final class CredentialLookup: Callout, @unchecked Sendable {
    // Sendable: `lock` guards `spellings` and `questions`.

    private let storage: URLCredentialStorage
    private let task: URLSessionTask
    private let answer: @Sendable (URLCredential?) -> Void
    private let lock = Lock()
    /// The equivalent spaces that were not queried yet.
    private var spellings: ArraySlice<URLProtectionSpace>
    /// Counts the queries, and their answers: only the first answer to the last query counts.
    private var questions = 0

    /// - Parameter answer: Called at most once, on any thread.
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
        let (space, question) = lock.withLock { (spellings.popFirst(), questions) }
        guard let space else { return answer(nil) }
        storage.getDefaultCredential(for: space, task: task) { [self] found in
            let isFirst = lock.withLock {
                guard question == questions else { return false }
                questions += 1
                return true
            }
            guard isFirst else { return }
            if let found { answer(found) } else { askNext() }
        }
    }
}
