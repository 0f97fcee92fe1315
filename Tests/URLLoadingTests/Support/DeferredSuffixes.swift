import Foundation
import LoadingSemantics
import TestSupport

@testable import URLLoading

/// A list of public suffixes that is read when a test says so, or by who waits for it.
final class DeferredSuffixes: Sendable {
    private struct State {
        var isRead = false
        var askedEarly: [String] = []
        var waiters = 0
        var mostWaiters = Int.max
    }

    private let state = Watched(State())
    private let reading = FirstReading()

    var list: PublicSuffixes {
        let later = PublicSuffixes.Reading(
            isDone: { [self] in reading.isDone },
            whenDone: { [self] body in
                guard reading.add(body) else { return body() }
                let mustFinish = state.withValue { state in
                    state.waiters += 1
                    return state.waiters == state.mostWaiters
                }
                if mustFinish { Thread.detachNewThread { self.finishReading() } }
            },
            wait: { [state] in state.withValue { $0.isRead = true } })
        return PublicSuffixes(later) { [state] name in
            state.withValue { if !$0.isRead { $0.askedEarly.append(name) } }
            return false
        }
    }

    /// What was asked for while it was not read.
    var askedEarly: [String] { state.current.askedEarly }

    /// It has been read, and those who wait are called.
    func finishReading() {
        state.withValue { $0.isRead = true }
        reading.end()
    }

    /// Has it read, on a thread of its own, as soon as so many wait.
    func finishReading(whenAwaitedBy count: Int) { state.withValue { $0.mostWaiters = count } }
}
