internal import CLoadingLinux
internal import Synchronization

/// An operation of the daemon, until it ends or is cancelled.
///
/// Its events come on the discovery's thread, one at a time, and must not block it.
package class DiscoveryOperation: @unchecked Sendable {
    // Sendable because what is not constant is used by the discovery's thread only.

    final let discovery: ServiceDiscovery
    private let isCancelledFlag = Atomic(false)
    /// Nanoseconds from the beginning; nil for no limit.
    private let timeout: Int64?

    /// When the timeout is over.
    final var limit: Int64?
    /// When `wake` is due: at the limit, or earlier.
    final var deadline: Int64?
    final private(set) var isEnded = false
    /// Nil before the operation has begun, and after its end.
    final private(set) var session: AvahiSession?

    init(_ discovery: ServiceDiscovery, timeout: Int64?) {
        self.discovery = discovery
        self.timeout = timeout
    }

    /// Ends the operation. An event that is being made may still come; none comes later.
    package final func cancel() {
        if isCancelledFlag.exchange(true, ordering: .relaxed) { return }
        discovery.cancel(self)
    }

    final var isCancelled: Bool { isCancelledFlag.load(ordering: .relaxed) }

    // MARK: On the thread

    final func begin(at now: Int64) {
        // Far enough away for every timeout, and without overflow.
        limit = timeout.map { now + min(max($0, 0), .max / 2) }
        deadline = limit
    }

    final func start(in session: AvahiSession) {
        self.session = session
        session.whenReady { [weak self] in
            guard let self, !self.isEnded else { return }
            self.start()
        }
        session.seekDaemon()
    }

    /// Ends without an event.
    final func end() {
        guard !isEnded else { return }
        isEnded = true
        deadline = nil
        release()
        session = nil
    }

    final func fail(_ failure: DiscoveryFailure) {
        guard !isEnded else { return }
        let isSilent = isCancelled
        if !isSilent { failed(failure) }
        end()
    }

    // MARK: For subclasses

    /// The daemon can be called.
    func start() {}
    /// The deadline is over. The operation ends, or sets another deadline.
    func wake(at now: Int64) { fail(.timedOut) }
    /// The daemon has ended, and has lost the operation's objects.
    func daemonEnded() { fail(.connectionLost) }
    /// Whether the operation goes on when the daemon is back, however long that takes.
    var awaitsDaemon: Bool { false }
    /// Has the event of a failure.
    func failed(_ failure: DiscoveryFailure) {}
    /// Drops the daemon's objects and what the caller has passed.
    func release() {}
}
