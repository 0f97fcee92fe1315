internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The credential storage of a session, for the engine. Confined to the session's loop.
final class SessionCredentials: CredentialStore {
    private let storage: URLCredentialStorage

    init(_ storage: URLCredentialStorage) { self.storage = storage }

    func defaultCredential(
        for space: ProtectionSpace, of client: any LoadClient, _ lookup: PendingLookup<ProposedCredential?>
    ) -> ClientAnswer<ProposedCredential?> {
        guard let core = client as? TaskCore, let task = core.heldTask else { return .now(nil) }
        let spellings = URLProtectionSpace(space).spellings(of: space)
        core.core.loop.callOut(
            CredentialLookup(spellings, in: storage, for: task) { found in
                lookup.answer(found.map { ProposedCredential(user: $0.user, password: $0.password, object: $0) })
            })
        return .later
    }

    func store(_ credential: LoadCredential, for space: ProtectionSpace, of client: any LoadClient) {
        guard let given = credential.object as? GivenCredential, let core = client as? TaskCore else { return }
        // The storage has it, or the program has removed it meanwhile.
        if given.isStored { return }
        let space = URLProtectionSpace(space)
        if core.result.usesQueue || !core.delegates.areNone {
            // Before the response, so that the delegate finds the credential in the storage.
            core.enqueue(.credential(given, space))
        } else if let task = core.heldTask {
            core.core.loop.callOut(CalledOut { [storage] in storage.store(given, for: space, task) })
        }
    }

    /// Not what the program has removed from the storage meanwhile. A subclass is not asked here, since it may take its time.
    func mayUse(_ credential: LoadCredential, for space: ProtectionSpace) -> Bool {
        guard type(of: storage) == URLCredentialStorage.self else { return true }
        return URLProtectionSpace(space).spellings(of: space).contains { space in
            storage.credentials(for: space)?.values.contains {
                $0.user == credential.user && $0.password == credential.password
            } == true
        }
    }
}

/// A credential that a load was given to answer a challenge.
final class GivenCredential: Sendable {
    let credential: URLCredential
    /// Whether the storage has it, or had it.
    let isStored: Bool
    /// The number of removals from the storage by then.
    let removalsBefore: Int

    init(_ credential: URLCredential, isStored: Bool, removalsBefore: Int) {
        self.credential = credential
        self.isStored = isStored
        self.removalsBefore = removalsBefore
    }
}

extension URLCredentialStorage {
    /// Stores an accepted credential (AUTH-22): as the default one, unless the program has made another user's the default. Not
    /// if it was removed after it was given: a logout while a server answers stays one.
    func store(_ given: GivenCredential, for space: URLProtectionSpace, _ task: URLSessionTask) {
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

/// Asks a storage for the default credential of a space, with the loop lent: a storage may be a class of the caller's,
/// which takes its time and answers from any thread (AUTH-25).
private final class CredentialLookup: Callout, @unchecked Sendable {
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
