import Foundation
import LoadingSemantics
import TestSupport

@testable import URLLoading

/// A public suffix list that is read when the test says so, or by a blocking access.
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

    /// The names that were queried before it was read.
    var askedEarly: [String] { state.current.askedEarly }

    /// Completes the read, and calls the waiters.
    func finishReading() {
        state.withValue { $0.isRead = true }
        reading.end()
    }

    /// Completes the read on another thread when there are that many waiters.
    func finishReading(whenAwaitedBy count: Int) { state.withValue { $0.mostWaiters = count } }
}
