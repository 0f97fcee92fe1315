internal import Dispatch
internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// A load that a ``URLProtocol`` of the caller's does (MISC-18).
///
/// The protocol object is made, started and stopped on one serial queue of the process; what it says comes from any
/// thread and is heard on the session's loop. It cannot be asked to pause: what it loads faster than it is wanted waits
/// in the load.
final class ProtocolSource: LoadSource, @unchecked Sendable {
    // Sendable because `load`, `core` and `challenge` are confined to the loop, `running` to the queue, and the rest is
    // constant or atomic.

    /// As on Apple platforms, where it is one thread.
    private static let queue = DispatchQueue(label: "URLProtocol")

    private let protocolClass: URLProtocol.Type
    private let request: URLRequest
    /// Whether the delegate has to give a stream first.
    private let awaitsBody: Bool
    private let loop: EventLoop
    private let wasStopped = Atomic<Bool>(false)
    /// The largest body that the cache keeps, in bytes. Known when the protocol begins.
    private let cacheLimit = Atomic<Int64>(0)

    // MARK: Confined to the loop

    private weak var load: SourceLoad?
    /// Until the load is over, since the protocol may be kept, and keeps this.
    private var core: TaskCore?
    /// The challenge that waits for the delegate's answer.
    private var challenge: PendingChallenge?

    /// What the cache may keep, as far as it has come.
    private var collected: Collected?

    private struct Collected {
        let response: URLResponse
        let policy: URLCache.StoragePolicy
        var body = Data()
        /// Bytes that the body may still have.
        var room: Int
    }

    // MARK: Confined to the queue

    /// From its start to its stop.
    private var running: URLProtocol?

    init(
        _ protocolClass: URLProtocol.Type, loading request: URLRequest, awaitsBody: Bool = false, for core: TaskCore
    ) {
        self.protocolClass = protocolClass
        self.awaitsBody = awaitsBody
        self.request = request
        self.core = core
        loop = core.core.loop
    }

    // MARK: On the loop

    func start(for load: SourceLoad) {
        self.load = load
        guard let core else { return }
        // A protocol can ask nobody for a stream, so it is there when the protocol is.
        if awaitsBody {
            load.setHeldUp(true)
            core.enqueue(.needsBody(offset: 0))
        } else {
            begin(with: request)
        }
    }

    /// The delegate's answer to the question for a stream; none is an error (T-51).
    func provideBody(_ body: HandedStream) {
        guard let load else { return }
        load.setHeldUp(false)
        guard let stream = body.stream else { return load.ended(.requestBodyStreamExhausted) }
        var request = request
        request.httpBodyStream = stream
        begin(with: request)
    }

    private func begin(with request: URLRequest) {
        guard let core, let task = core.heldTask else { return }
        Self.queue.async { self.begin(task, core, request) }
    }

    // MARK: What the cache may keep

    /// A response is there that the cache may be allowed to keep (CACHE-3).
    func collect(_ response: URLResponse, _ policy: URLCache.StoragePolicy, for core: TaskCore) {
        collected = nil
        let limit = cacheLimit.load(ordering: .relaxed)
        guard policy != .notAllowed, request.method == "GET", case .data = core.kind, core.core.urlCache != nil,
            (200...299).contains((response as? HTTPURLResponse)?.statusCode ?? 200)
        else { return }
        collected = Collected(response: response, policy: policy, room: Int(clamping: limit))
    }

    /// A larger body is not held for the cache's sake alone (CACHE-31).
    func collect(_ data: Data) {
        guard let room = collected?.room else { return }
        guard data.count <= room else {
            collected = nil
            return
        }
        collected?.room -= data.count
        collected?.body.append(data)
    }

    func isDelivered() -> Bool {
        guard let collected, let core, let load else { return true }
        self.collected = nil
        let ending = LoopBox(load)
        core.propose(
            CachedURLResponse(
                response: collected.response, data: collected.body, userInfo: nil, storagePolicy: collected.policy)
        ) { ending.value.mayEnd() }
        return false
    }

    func setPaused(_ isPaused: Bool) {}

    func stop() {
        load = nil
        core = nil
        challenge = nil
        collected = nil
        wasStopped.store(true, ordering: .relaxed)
        Self.queue.async {
            self.running?.stopLoading()
            self.running = nil
        }
    }

    /// The protocol needs a credential. No clock runs while the delegate is asked.
    func ask(_ challenge: URLAuthenticationChallenge) {
        guard let load, let core else { return }
        load.setHeldUp(true)
        self.challenge = core.ask(challenge) { self.answered(challenge, $0) }
    }

    /// One that cancels has ended the load by now, and the protocol hears of it still.
    private func answered(_ challenge: URLAuthenticationChallenge, _ answer: ChallengeAnswer) {
        self.challenge = nil
        guard load != nil || answer.disposition == .cancelAuthenticationChallenge else { return }
        load?.setHeldUp(false)
        Self.queue.async { Self.give(challenge, answer) }
    }

    /// The protocol wants no answer any more.
    func withdraw(_ challenge: URLAuthenticationChallenge) {
        guard let pending = self.challenge, pending.challenge === challenge else { return }
        pending.withdraw()
        self.challenge = nil
        load?.setHeldUp(false)
    }

    // MARK: On the queue

    private func begin(_ task: URLSessionTask, _ core: TaskCore, _ request: URLRequest) {
        // A load that was cancelled before its turn is not begun.
        if wasStopped.load(ordering: .relaxed) { return }
        // The capacities of a cache may be the caller's code, which no loop waits for.
        if case .data = core.kind, let cache = core.core.urlCache { cacheLimit.store(cache.limit, ordering: .relaxed) }
        let canonical = protocolClass.canonicalRequest(for: request)
        let client = ProtocolClient(for: self, request: canonical)
        let loading = protocolClass.init(
            task: task, cachedResponse: core.storedResponse(to: canonical), client: client)
        running = loading
        loading.startLoading()
    }

    /// Answers a challenge where the protocol does its work (MISC-19).
    private static func give(_ challenge: URLAuthenticationChallenge, _ answer: ChallengeAnswer) {
        guard let sender = challenge.sender else { return }
        switch (answer.disposition, answer.credential) {
        case (.useCredential, let credential?): sender.use(credential, for: challenge)
        case (.useCredential, nil): sender.continueWithoutCredential(for: challenge)
        case (.performDefaultHandling, _): sender.performDefaultHandling(for: challenge)
        case (.cancelAuthenticationChallenge, _): sender.cancel(challenge)
        case (.rejectProtectionSpace, _): sender.rejectProtectionSpaceAndContinue(with: challenge)
        }
    }

    // MARK: From any thread

    /// Has `body` done on the loop, unless the load is over by then.
    func tell(_ body: @escaping @Sendable (SourceLoad, TaskCore) -> Void) {
        loop.post { [self] in
            if let load, let core { body(load, core) }
        }
    }
}
