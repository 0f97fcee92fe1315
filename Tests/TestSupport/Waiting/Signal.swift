/// A one-time latch, with which a test releases a blocked server or delegate.
package final class Signal: Sendable {
    private struct State {
        var isFired = false
        var observers: [@Sendable () -> Void] = []
    }

    package let name: String
    private let state = Watched(State())

    package init(_ name: String = "a signal") {
        self.name = name
    }

    package var isFired: Bool { state.current.isFired }

    /// Opens the latch. Further calls have no effect.
    package func fire() {
        let observers = state.withValue { state in
            state.isFired = true
            defer { state.observers = [] }
            return state.observers
        }
        for observer in observers { observer() }
    }

    /// Blocks until the latch is open.
    package func wait(within deadline: Duration = .testDeadline) throws {
        try state.wait(for: name, within: deadline) { $0.isFired ? () : nil }
    }

    /// Suspends until the latch is open.
    package func wait(within deadline: Duration = .testDeadline) async throws {
        try await state.wait(for: name, within: deadline) { $0.isFired ? () : nil }
    }

    /// Calls the observer when the latch opens, or at once if it is open.
    func observe(_ observer: @escaping @Sendable () -> Void) {
        let isFired = state.withValue { state in
            if !state.isFired { state.observers.append(observer) }
            return state.isFired
        }
        if isFired { observer() }
    }
}
