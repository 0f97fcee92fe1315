import Dispatch
import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Handles SIGINT and SIGTERM while it exists: cancels a load instead of ending the process at once.
struct Interruption {
    private let number: Int

    /// Calls `handler` once, on a private queue. A second signal ends the process at once, and so does one without any
    /// handler.
    init(_ handler: @escaping @Sendable (ExitCode) -> Void) { number = InterruptionSignals.shared.add(handler) }

    func end() { InterruptionSignals.shared.remove(number) }
}

/// The signals of the process. There is one source for each, because a second one for the same signal, made after the
/// first was cancelled, is not notified.
///
/// Unchecked: `lock` guards the mutable state.
private final class InterruptionSignals: @unchecked Sendable {
    static let shared = InterruptionSignals()

    private let lock = NSLock()
    private var handlers: [Int: @Sendable (ExitCode) -> Void] = [:]
    private var lastNumber = 0
    private var isWatching = false
    private var sources: [any DispatchSourceSignal] = []
    /// Empty when all sources are registered.
    private let registrations = DispatchGroup()

    func add(_ handler: @escaping @Sendable (ExitCode) -> Void) -> Int {
        let number = lock.withLock {
            if !isWatching { watch() }
            lastNumber += 1
            handlers[lastNumber] = handler
            return lastNumber
        }
        // A signal that comes earlier is lost. Without the lock, which the event handlers need on the same queue.
        registrations.wait()
        return number
    }

    func remove(_ number: Int) { lock.withLock { handlers[number] = nil } }

    private func watch() {
        isWatching = true
        let queue = DispatchQueue(label: "urlsession.interruption")
        sources = [(SIGINT, ExitCode.interrupted), (SIGTERM, .terminated)].compactMap { number, code in
            let before = signal(number, SIG_IGN)
            // A shell lets background jobs of a script ignore SIGINT, so that Ctrl-C does not end them. It stays so.
            if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { return nil }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [self] in
                signal(number, SIG_DFL)
                let interrupted = lock.withLock { Array(handlers.values) }
                if interrupted.isEmpty { _exit(code.rawValue) }
                // A blocked write to a full pipe could delay the end forever. Exit after one second in any case.
                DispatchQueue.global().asyncAfter(deadline: .now() + 1) { _exit(code.rawValue) }
                for handler in interrupted { handler(code) }
            }
            registrations.enter()
            source.setRegistrationHandler { [registrations] in registrations.leave() }
            source.activate()
            return source
        }
    }
}
