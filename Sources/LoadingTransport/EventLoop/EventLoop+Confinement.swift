internal import CLoadingLinux
internal import LoadingEvents

/// Checks that values confined to a loop are used only by the thread that runs the loop, and not while the loop is
/// lent. Release builds do not contain the check.
extension EventLoop {
    /// Reports in a debug build (`DebugCheck`) if the calling thread does not run the loop. It does not during a
    /// callout, because another thread may have taken the loop. A forked process has no thread that runs a loop, so
    /// nothing is confined there.
    ///
    /// - Parameter what: The subject of a sentence: "A timer".
    @inline(__always)
    @inlinable
    package func checkConfinement(of what: @autoclosure () -> String) {
        #if DEBUG
            Self.checkConfinement(to: mark, of: what())
        #endif
    }

    /// Records whether the calling thread runs the loop from now on.
    @inline(__always)
    func noteRunning(_ isRunning: Bool) {
        #if DEBUG
            cll_set_loop_of_thread(isRunning ? mark : 0)
        #endif
    }

    /// Runs `body` on a thread that has borrowed the loop.
    @inline(__always)
    func asBorrower(_ body: () -> Void) {
        #if DEBUG
            let before = Self.current
            cll_set_loop_of_thread(mark)
            defer { cll_set_loop_of_thread(before) }
        #endif
        body()
    }

    #if DEBUG
        /// The mark of the loop that the calling thread runs; 0 if there is none or it is lent.
        static var current: UInt { cll_loop_of_thread() }

        /// Whether confinement can be checked.
        static var isChecked: Bool { !ForkedProcess.isCurrent }

        /// Identifies the loop.
        @usableFromInline
        package var mark: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

        @usableFromInline
        package static func checkConfinement(to mark: UInt, of what: @autoclosure () -> String) {
            guard current != mark, isChecked else { return }
            DebugCheck.fail(
                "\(what()) is used off its event loop: "
                    + (current == 0 ? "this thread runs none, or has lent it" : "this thread runs another one"))
        }
    #endif
}
