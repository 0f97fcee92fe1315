/// A counting semaphore with which a test releases work in portions.
package final class Permits: Sendable {
    private struct State {
        var available = 0
        var observers: [@Sendable () -> Void] = []
    }

    private let state = Watched(State())

    package init() {}

    /// Adds a number of permits.
    package func release(_ count: Int = 1) {
        let observers = state.withValue { state in
            state.available += count
            return state.observers
        }
        for observer in observers { observer() }
    }

    /// The number of permits that are not taken.
    package var available: Int { state.current.available }

    /// Takes a permit if there is one.
    func take() -> Bool {
        state.withValue { state in
            guard state.available > 0 else { return false }
            state.available -= 1
            return true
        }
    }

    /// Calls the observer at each later release.
    func observe(_ observer: @escaping @Sendable () -> Void) {
        state.withValue { $0.observers.append(observer) }
    }
}
