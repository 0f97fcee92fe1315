internal import LoadingEvents

/// The check that what is confined to a loop is used by the thread that runs the loop, and not while it is lent. Nothing of it
/// is in release builds.
extension EventLoop {
    /// Reports in a debug build (`DebugCheck`) if the calling thread does not run the loop. In a callout it does not: the loop may have gone to another
    /// thread. A process that was forked off has no thread that runs a loop, so nothing is confined there.
    ///
    /// - Parameter what: As the subject of a sentence: "A timer".
    @inline(__always)
    @inlinable
    package func checkConfinement(of what: @autoclosure () -> String) {
        #if DEBUG
            Self.checkConfinement(to: mark, of: what())
        #endif
    }

    /// Notes whether the calling thread runs the loop from now on.
    @inline(__always)
    func noteRunning(_ isRunning: Bool) {
        #if DEBUG
            Self.currentMark.value = isRunning ? mark : 0
        #endif
    }

    #if DEBUG
        private static let currentMark = ThreadWord()

        /// The mark of the loop that the calling thread runs; 0 if there is none or it is lent.
        static var current: UInt { currentMark.value }

        /// Whether confinement can be checked.
        static var isChecked: Bool { currentMark.isAvailable && !ForkedProcess.isCurrent }

        /// What tells the loop from others.
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
