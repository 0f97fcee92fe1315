internal import CLoadingPublicSuffixes
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

extension PublicSuffixes {
    /// The system's public suffix list; without one, top-level domains only. Reading it needs files and a library, so
    /// no loop blocks on it.
    static let system = PublicSuffixes(
        PublicSuffixes.Reading(
            isDone: { isSystemRead }, whenDone: { systemReading.whenDone($0) }, wait: { clp_read() })
    ) { domain in domain.withCString { clp_is_public_suffix($0) } }

    /// Starts a thread that reads the system's list, once. Called when a request is sent whose response may set
    /// cookies.
    static func readSystem() { systemReading.begin() }

    /// Whether the list was read and all waiters have been called.
    static var isSystemRead: Bool { systemReading.isDone }

    private static let systemReading = SystemReading()

    private final class SystemReading: Sendable {
        private let reading = FirstReading()
        private let isOrdered = Atomic(false)

        var isDone: Bool { reading.isDone }

        /// Calls at once, or on the reading thread after the list was read, in order.
        func whenDone(_ body: @escaping @Sendable () -> Void) {
            if reading.add(body) { begin() } else { body() }
        }

        /// Starts the reading thread, once.
        func begin() {
            if isOrdered.exchange(true, ordering: .relaxed) { return }
            if !DetachedThread.startIfPossible(named: "url-suffixes", { self.read() }) { read() }
        }

        private func read() {
            clp_read()
            reading.end()
        }
    }
}
