/// Lets a test release work in portions: each tick is taken once.
package final class Permits: Sendable {
    private struct State {
        var available = 0
        var observers: [@Sendable () -> Void] = []
    }

    private let state = Watched(State())

    package init() {}

    /// Lets so many more portions go.
    package func release(_ count: Int = 1) {
        let observers = state.withValue { state in
            state.available += count
            return state.observers
        }
        for observer in observers { observer() }
    }

    /// Released and not yet taken.
    package var available: Int { state.current.available }

    /// Takes a tick if there is one.
    func take() -> Bool {
        state.withValue { state in
            guard state.available > 0 else { return false }
            state.available -= 1
            return true
        }
    }

    /// Calls the observer at each release from now on.
    func observe(_ observer: @escaping @Sendable () -> Void) {
        state.withValue { $0.observers.append(observer) }
    }
}
