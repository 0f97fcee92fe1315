package import LoadingSemantics

/// When a program is launched for the events of a session (BG-11, BG-15). Dates are seconds since 1970.
///
/// A program is launched at once when its session needs it, but not while it is attached, and not twice at the same
/// time. If it does not attach, or goes away without having taken everything, it is launched again after a delay, which
/// doubles with each launch. The delay is forgotten when the program has taken everything, and when it has passed
/// without the session needing the program.
package struct LaunchPolicy: Equatable, Sendable {
    package enum Decision: Equatable, Sendable {
        case launch
        /// To be asked again at that date.
        case wait(until: Double)
        /// Not until something happens.
        case nothing
    }

    /// How often the program was launched without taking everything, and when last.
    package private(set) var launches: Int
    package private(set) var lastLaunch: Double?
    private var neededSince: Double?
    private var isAttached = false
    /// A program that the service has started, and that has not ended.
    private var isRunning = false

    private let firstDelay: Double
    private let delay: Double
    private let longestDelay: Double

    /// - Parameter firstDelay: How long the first launch waits, for programs that shall not be launched often.
    package init(
        launches: Int = 0, lastLaunch: Double? = nil, firstDelay: Double = 0, limits: TimeLimits = .standard
    ) {
        // The journal may have any number. More would not change the delay.
        self.launches = min(max(launches, 0), 1000)
        self.lastLaunch = lastLaunch
        self.firstDelay = firstDelay
        delay = limits.launchDelay
        longestDelay = limits.longestLaunchDelay
    }

    package func decision(at now: Double) -> Decision {
        guard let neededSince, !isAttached, !isRunning else { return .nothing }
        let date = earliestLaunch(neededSince: neededSince, at: now)
        return date <= now ? .launch : .wait(until: date)
    }

    /// The clock may have been set back since a date was noted: no delay is longer for that.
    private func earliestLaunch(neededSince: Double, at now: Double) -> Double {
        guard let lastLaunch, launches > 0 else { return min(neededSince, now) + firstDelay }
        return min(lastLaunch, now) + currentDelay
    }

    /// After `launches` launches.
    private var currentDelay: Double {
        // A larger exponent would not change the minimum.
        var current = delay
        for _ in 1..<max(min(launches, 64), 1) { current = min(current * 2, longestDelay) }
        return min(current, longestDelay)
    }

    // MARK: What happens

    /// Whether the session has something for the program: everything is done, or a challenge or a delayed request
    /// waits.
    package mutating func setNeeded(_ isNeeded: Bool, at now: Double) {
        // The clock was set back: a delay counts from now on, and not from now on each time it is looked at.
        lastLaunch = lastLaunch.map { min($0, now) }
        neededSince = neededSince.map { min($0, now) }
        guard isNeeded != (neededSince != nil) else { return }
        neededSince = isNeeded ? now : nil
        if isNeeded, let lastLaunch, now >= lastLaunch + currentDelay { reset() }
    }

    /// The program is being launched, with or without success.
    package mutating func launched(at now: Double) {
        launches += 1
        lastLaunch = now
    }

    /// A program that the service has started runs, so it is not started twice.
    package mutating func programStarted() { isRunning = true }
    package mutating func programEnded() { isRunning = false }

    package mutating func attached() { isAttached = true }
    package mutating func detached() { isAttached = false }

    /// The attached program has taken everything.
    package mutating func becameIdle() {
        guard isAttached else { return }
        reset()
    }

    private mutating func reset() {
        launches = 0
        lastLaunch = nil
    }
}
