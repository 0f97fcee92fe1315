internal import CLoadingLinux
internal import Glibc
package import LoadingTransport

/// A timer on the wall clock, which also fires when the clock is set. Confined to its loop.
///
/// Other timers measure the time that has passed, so a date would need them to look at the clock periodically. This one
/// costs no wake-up until its date, also if the machine sleeps meanwhile.
package final class WallClockTimer {
    private let loop: EventLoop
    private let descriptor: Int32
    private let target: Target
    private let registration: LoopRegistration

    /// The kernel's event. Of its own, so that the loop does not retain the timer.
    private final class Target: ReadinessHandler {
        private let descriptor: Int32
        let fired: () -> Void

        init(_ descriptor: Int32, fired: @escaping () -> Void) {
            self.descriptor = descriptor
            self.fired = fired
        }

        func becameReady(_ readiness: Readiness) {
            if WallClockTimer.hasFired(cll_wall_timer_take(descriptor)) { fired() }
        }
    }

    /// Nil if the kernel has no descriptor.
    ///
    /// - Parameter fired: Called on the loop when the date has come, or the clock was set while the timer was armed.
    ///   Whether the date has come, the owner reads from the clock. It arms the timer again for what remains.
    package init?(on loop: EventLoop, fired: @escaping () -> Void) {
        let descriptor = cll_wall_timer()
        guard descriptor >= 0 else { return nil }
        let target = Target(descriptor, fired: fired)
        guard let registration = loop.register(descriptor, target) else {
            close(descriptor)
            return nil
        }
        self.loop = loop
        self.descriptor = descriptor
        self.target = target
        self.registration = registration
    }

    deinit {
        // The last reference may be released on any thread.
        loop.post { [loop, descriptor, registration] in
            loop.unregister(descriptor, registration)
            close(descriptor)
        }
    }

    /// - Parameter result: The number of times, or the negative errno. A timer that was armed again has nothing to
    ///   read.
    package static func hasFired(_ result: Int64) -> Bool { result > 0 || result == -Int64(ECANCELED) }

    /// - Parameter date: Seconds since 1970. A past date fires in the next turn. Nil disarms.
    package func arm(at date: Double?) {
        loop.checkConfinement(of: "A timer on the wall clock")
        guard let date else {
            _ = cll_wall_timer_arm(descriptor, 0, 0)
            return
        }
        // Zero disarms. The kernel's largest time is that of 2^63 nanoseconds.
        let clamped = min(max(date, 0.001), 9e9)
        let seconds = clamped.rounded(.down)
        // The kernel does not report it again.
        guard cll_wall_timer_arm(descriptor, Int64(seconds), Int64((clamped - seconds) * 1e9)) else { return }
        let box = LoopBox(target, on: loop)
        loop.post { box.value.fired() }
    }
}
