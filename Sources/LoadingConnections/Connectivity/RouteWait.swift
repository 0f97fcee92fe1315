internal import LoadingSemantics
package import LoadingTransport

/// Somebody who waits for a change of the machine's routes. Confined to its loop.
package final class RouteWait: LoopTimerTarget {
    let number: UInt64
    let loop: EventLoop
    private let watch: RouteWatch
    /// Until it was called, or nobody waits any more.
    private var body: (() -> Void)?
    private let timer = LoopTimer()

    init(number: UInt64, of watch: RouteWatch, on loop: EventLoop, _ body: @escaping () -> Void) {
        self.number = number
        self.watch = watch
        self.loop = loop
        self.body = body
    }

    /// Nobody waits any more: nothing is called, and nothing is kept.
    package func end() {
        guard body != nil else { return }
        body = nil
        loop.disarm(timer)
        watch.forget(self)
    }

    func tell() {
        let body = body
        end()
        body?()
    }

    /// Ends the waiting in a while, since nobody will hear of a change.
    func tellLater() { loop.arm(timer, at: loop.now + loop.limits.routeWatchRetry, for: self) }

    package func timerFired(_ timer: LoopTimer) { tell() }
}
