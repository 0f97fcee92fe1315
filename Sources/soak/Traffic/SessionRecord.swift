import Foundation

/// The callbacks that a session must still make.
final class SessionRecord: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `lock`.
    enum Ending: Sendable {
        case finished
        case cancelled
        case dropped
    }

    let number: Int
    private let hasDelegate: Bool
    private let lock = NSLock()
    private var ending: Ending?
    private var invalidations = 0
    private var running = 0
    private var isEarly = false

    init(number: Int, hasDelegate: Bool) {
        self.number = number
        self.hasDelegate = hasDelegate
    }

    var isCancelled: Bool { lock.withLock { ending == .cancelled } }

    func end(_ ending: Ending) { lock.withLock { self.ending = ending } }
    func taskBegan() { lock.withLock { running += 1 } }
    func taskEnded() { lock.withLock { running -= 1 } }

    func becameInvalid() {
        lock.withLock {
            invalidations += 1
            if running > 0 { isEarly = true }
        }
    }

    var fault: String? {
        lock.withLock {
            let expected = hasDelegate && ending != .dropped ? 1 : 0
            if invalidations != expected {
                return "Session \(number) (\(ending.map { "\($0)" } ?? "open")) became invalid \(invalidations) times."
            }
            if isEarly { return "Session \(number) became invalid before its last task had ended." }
            return nil
        }
    }
}
