internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// Delayed tasks of background sessions (T-18, BG-17).
extension TaskCore {
    /// Starts the load after the date is reached and the delegate has answered.
    func beginWhenDue() {
        guard core.configuration.identifier != nil, let date = earliestBeginDate else { return beginLoading() }
        delay = StartDelay(until: date, on: core.loop) { [weak self] in self?.isDue() }
    }

    private func isDue() {
        guard !hasEnded else { return }
        guard !delegates.lack([.taskWillBeginDelayedRequest, .taskWillBeginDelayedRequestAsync]),
            let request = currentRequest
        else {
            delay = nil
            return beginLoading()
        }
        enqueue(.delayedRequest(request))
    }

    /// The delegate's answer for a delayed request.
    func answerDelay(_ disposition: URLSession.DelayedRequestDisposition, _ request: URLRequest?) {
        switch (disposition, request) {
        case (.cancel, _): cancel(nil)
        case (.useNewRequest, let request?): beginDelayed(request)
        // Without a new request the old one is used.
        case (.continueLoading, _), (.useNewRequest, nil): beginDelayed(nil)
        }
    }

    private func beginDelayed(_ request: URLRequest?) {
        core.loop.post { [self] in
            guard !hasEnded, delay != nil else { return }
            delay = nil
            if let request { replaceRequest(request) }
            beginLoading()
        }
    }
}

/// The timer until a task may begin. Confined to the loop.
final class StartDelay: LoopTimerTarget {
    private let date: Date
    private let loop: EventLoop
    private let timer = LoopTimer()
    private var body: (() -> Void)?

    /// Calls `body` in a later turn, when the wall clock has reached the date.
    init(until date: Date, on loop: EventLoop, _ body: @escaping () -> Void) {
        self.date = date
        self.loop = loop
        self.body = body
        arm()
    }

    /// The remaining time. Not negative, and 0 for a date that is NaN.
    private var timeLeft: Double {
        let seconds = date.timeIntervalSince1970 - Double(loop.clock.wallNow) / 1e9
        return seconds > 0 ? seconds : 0
    }

    private func arm() {
        let rest = timeLeft
        loop.arm(timer, at: loop.now &+ Int64(min(rest, loop.limits.wallClockCheck) * 1e9), for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        guard timeLeft == 0 else { return arm() }
        let body = body
        self.body = nil
        body?()
    }

    func end() {
        body = nil
        loop.disarm(timer)
    }
}
