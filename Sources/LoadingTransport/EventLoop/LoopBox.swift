internal import LoadingEvents

/// Carries a value that is confined to a loop through a closure that other threads may retain but only the loop calls.
///
/// It belongs to the loop on which it is made, or to a given one. Debug builds check that `value` is read there.
package struct LoopBox<Value>: @unchecked Sendable {
    // Sendable because `value` is read on one loop only, which debug builds check.

    #if DEBUG
        private let contents: Value
        private let loop: UInt

        package var value: Value {
            EventLoop.checkConfinement(to: loop, of: "A LoopBox<\(Value.self)>")
            return contents
        }
    #else
        package let value: Value
    #endif

    /// Called on the loop that `value` is confined to.
    package init(_ value: Value) {
        #if DEBUG
            if EventLoop.current == 0, EventLoop.isChecked {
                DebugCheck.fail("A LoopBox<\(Value.self)> is made off every event loop, and for none")
            }
            contents = value
            loop = EventLoop.current
        #else
            self.value = value
        #endif
    }

    /// Called on any thread.
    package init(_ value: Value, on loop: EventLoop) {
        #if DEBUG
            contents = value
            self.loop = loop.mark
        #else
            self.value = value
        #endif
    }
}

extension EventLoop {
    /// Runs `job`, which is confined to this loop, in a later turn. Called on the loop.
    package func runLater(_ job: @escaping () -> Void) {
        let job = LoopBox(job)
        post { job.value() }
    }
}
