/// The delegates of one task in calling order: its own, then the session's (T-24).
package struct TaskDelegates: Sendable {
    package var own: DelegateReference?
    package var session: DelegateReference?

    package init(own: DelegateReference?, session: DelegateReference?) {
        self.own = own
        self.session = session
    }

    package var isEmpty: Bool { own == nil && session == nil }

    /// Calls `event` with each delegate until one implements the method. False if none does.
    @inline(__always)
    package func offer(_ event: (DelegateReference) -> Bool) -> Bool {
        if let own, event(own) { return true }
        if let session, event(session) { return true }
        return false
    }

    /// Whether neither delegate implements any of `methods`, as far as known. Then an event need not be enqueued.
    package func lack(_ methods: DelegateMethod) -> Bool {
        (own?.lacks(methods) ?? true) && (session?.lacks(methods) ?? true)
    }
}
