internal import Dispatch
internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// A load source that uses a custom ``URLProtocol`` (MISC-18).
///
/// The protocol object is created, started and stopped on one serial queue of the process. It calls its client on any
/// thread; the calls are processed on the session's loop. A protocol cannot be paused: data that the consumer does not
/// accept yet is buffered in the load.
final class ProtocolSource: LoadSource, @unchecked Sendable {
    // Sendable because `load`, `core` and `challenges` are confined to the loop, `running` to the queue, and the rest
    // is constant or atomic.

    /// Serial, because on Apple platforms all protocols share one thread.
    private static let queue = DispatchQueue(label: "URLProtocol")

    private let protocolClass: URLProtocol.Type
    private let request: URLRequest
    /// Whether the delegate must provide a body stream first.
    private let awaitsBody: Bool
    private let loop: EventLoop
    private let wasStopped = Atomic<Bool>(false)
    /// The largest body that the cache keeps, in bytes. Known when the protocol begins.
    private let cacheLimit = Atomic<Int64>(0)

    // MARK: Confined to the loop

    private weak var load: SourceLoad?
    /// Nil after the load has ended: the program may keep the protocol, which retains this source.
    private var core: TaskCore?
    /// The challenges that the delegate has not answered yet. Timeouts are suspended while there are any.
    private var challenges: [PendingChallenge] = []

    /// The cacheable response, as far as it was received.
    private var cacheCandidate: CacheCandidate?

    private struct CacheCandidate {
        let response: URLResponse
        let policy: URLCache.StoragePolicy
        var body = Data()
        /// How many more bytes the body may have to be cached.
        var room: Int
    }

    // MARK: Confined to the queue

    /// Set from `startLoading()` to `stopLoading()`.
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
        // A protocol cannot request a body stream, so the stream is requested before the protocol is created.
        if awaitsBody {
            load.setIdleTimePaused(true)
            core.enqueue(.needsBody(offset: 0))
        } else {
            begin(with: request)
        }
    }

    /// The body stream from the delegate. Without one the load fails (T-51).
    func provideBody(_ body: SendableInputStream) {
        guard let load else { return }
        load.setIdleTimePaused(false)
        guard let stream = body.stream else { return load.ended(.requestBodyStreamExhausted) }
        var request = request
        request.httpBodyStream = stream
        begin(with: request)
    }

    private func begin(with request: URLRequest) {
        guard let core, let task = core.heldTask else { return }
        Self.queue.async { self.begin(task, core, request) }
    }

    // MARK: Caching

    /// Begins to collect a response if the cache may store it (CACHE-3).
    func collect(_ response: URLResponse, _ policy: URLCache.StoragePolicy, for core: TaskCore) {
        cacheCandidate = nil
        let limit = cacheLimit.load(ordering: .relaxed)
        guard policy != .notAllowed, request.method == "GET", case .data = core.kind, core.core.urlCache != nil,
            case let status = (response as? HTTPURLResponse)?.statusCode ?? 200, (200...299).contains(status),
            // A part is not the response to a request for the whole (CACHE-20).
            status != 206, request.value(forHTTPHeaderField: "Range") == nil
        else { return }
        cacheCandidate = CacheCandidate(response: response, policy: policy, room: Int(clamping: limit))
    }

    /// Collects a piece of the body. A body above the cache's limit is not collected (CACHE-31).
    func collect(_ data: Data) {
        guard let room = cacheCandidate?.room else { return }
        guard data.count <= room else {
            cacheCandidate = nil
            return
        }
        cacheCandidate?.room -= data.count
        cacheCandidate?.body.append(data)
    }

    func isDelivered() -> Bool {
        guard let cacheCandidate, let core, let load else { return true }
        self.cacheCandidate = nil
        let ending = LoopBox(load)
        core.propose(
            CachedURLResponse(
                response: cacheCandidate.response, data: cacheCandidate.body, userInfo: nil,
                storagePolicy: cacheCandidate.policy)
        ) { ending.value.sourceFinished() }
        return false
    }

    func setPaused(_ isPaused: Bool) {}

    func stop() {
        load = nil
        core = nil
        challenges = []
        cacheCandidate = nil
        wasStopped.store(true, ordering: .relaxed)
        Self.queue.async {
            self.running?.stopLoading()
            self.running = nil
        }
    }

    /// Passes a challenge of the protocol to the delegate.
    func ask(_ challenge: URLAuthenticationChallenge) {
        guard let load, let core else { return }
        load.setIdleTimePaused(true)
        challenges.append(core.ask(challenge) { self.answered(challenge, $0) })
    }

    /// A cancellation has already ended the load, but the protocol is informed in any case.
    private func answered(_ challenge: URLAuthenticationChallenge, _ answer: ChallengeAnswer) {
        remove(challenge)
        guard load != nil || answer.disposition == .cancelAuthenticationChallenge else { return }
        Self.queue.async { Self.give(challenge, answer) }
    }

    /// The protocol has cancelled its challenge.
    func withdraw(_ challenge: URLAuthenticationChallenge) {
        remove(challenge)?.withdraw()
    }

    @discardableResult private func remove(_ challenge: URLAuthenticationChallenge) -> PendingChallenge? {
        guard let index = challenges.firstIndex(where: { $0.challenge === challenge }) else { return nil }
        let removed = challenges.remove(at: index)
        if challenges.isEmpty { load?.setIdleTimePaused(false) }
        return removed
    }

    // MARK: On the queue

    private func begin(_ task: URLSessionTask, _ core: TaskCore, _ request: URLRequest) {
        // The load was cancelled before its turn.
        if wasStopped.load(ordering: .relaxed) { return }
        // The capacities of a cache subclass run the program's code, which must not block the loop.
        if case .data = core.kind, let cache = core.core.urlCache { cacheLimit.store(cache.limit, ordering: .relaxed) }
        let canonical = protocolClass.canonicalRequest(for: request)
        let client = ProtocolClient(for: self, request: canonical)
        let loading = protocolClass.init(
            task: task, cachedResponse: core.storedResponse(to: canonical), client: client)
        running = loading
        loading.startLoading()
    }

    /// Calls the sender of a challenge on the protocols' queue (MISC-19).
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

    /// Calls `body` on the loop, unless the load has ended.
    func forward(_ body: @escaping @Sendable (SourceLoad, TaskCore) -> Void) {
        loop.post { [self] in
            if let load, let core { body(load, core) }
        }
    }
}
