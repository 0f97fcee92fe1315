/// The delegates of one task in the order in which they are asked: its own, then the session's (T-24).
package struct TaskDelegates: Sendable {
    package var own: DelegateReference?
    package var session: DelegateReference?

    package init(own: DelegateReference?, session: DelegateReference?) {
        self.own = own
        self.session = session
    }

    /// Whether there is nobody to tell anything.
    package var areNone: Bool { own == nil && session == nil }

    /// Offers an event to each until one has the method for it. False if none has.
    @inline(__always)
    package func offer(_ event: (DelegateReference) -> Bool) -> Bool {
        if let own, event(own) { return true }
        if let session, event(session) { return true }
        return false
    }

    /// Whether both are known to have none of `methods`, so that an event need not be sent to the delegate queue.
    package func lack(_ methods: DelegateMethod) -> Bool {
        (own?.lacks(methods) ?? true) && (session?.lacks(methods) ?? true)
    }
}
