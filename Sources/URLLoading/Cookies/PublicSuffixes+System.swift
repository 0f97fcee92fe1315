internal import CLoadingPublicSuffixes
internal import LoadingEvents
internal import LoadingSemantics
internal import Synchronization

extension PublicSuffixes {
    /// The system's list; without one, top-level domains only. To read it takes files and a library, for which no loop waits.
    static let system = PublicSuffixes(
        PublicSuffixes.Reading(
            isDone: { isSystemRead }, whenDone: { systemReading.whenDone($0) }, wait: { clp_read() })
    ) { domain in domain.withCString { clp_is_public_suffix($0) } }

    /// Has a thread read the system's list, the first time. It is begun when a request goes out whose response may set
    /// cookies.
    static func readSystem() { systemReading.begin() }

    /// Whether the system's list has been read, and all who waited for it have been called.
    static var isSystemRead: Bool { systemReading.isDone }

    private static let systemReading = SystemReading()

    private final class SystemReading: Sendable {
        private let reading = FirstReading()
        private let isOrdered = Atomic(false)

        var isDone: Bool { reading.isDone }

        /// Calls at once, or on a thread of its own when the list has been read, in the order of asking.
        func whenDone(_ body: @escaping @Sendable () -> Void) {
            if reading.add(body) { begin() } else { body() }
        }

        /// Has a thread read it, the first time.
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
