internal import LoadingSemantics
package import LoadingTransport

/// One wait for a change of the machine's routes. Confined to its loop.
package final class RouteWait: LoopTimerTarget {
    let number: Int
    let loop: EventLoop
    private let watch: RouteWatch
    /// Nil once it was called or the wait has ended.
    private var body: (() -> Void)?
    private let timer = LoopTimer()

    init(number: Int, of watch: RouteWatch, on loop: EventLoop, _ body: @escaping () -> Void) {
        self.number = number
        self.watch = watch
        self.loop = loop
        self.body = body
    }

    /// Ends the wait: the closure is not called any more.
    package func end() {
        guard body != nil else { return }
        body = nil
        loop.disarm(timer)
        watch.forget(self)
    }

    func notify() {
        let body = body
        end()
        body?()
    }

    /// Ends the wait after a while, because no change will be reported.
    func notifyLater() { loop.arm(timer, at: loop.now + loop.limits.routeWatchRetry, for: self) }

    package func timerFired(_ timer: LoopTimer) { notify() }
}
