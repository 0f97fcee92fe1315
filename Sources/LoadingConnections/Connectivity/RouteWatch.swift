internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingTransport

/// Reports changes of this machine's links, addresses and routes, through rtnetlink, and whether there is any route to
/// other networks.
///
/// A client takes a mark before it tries to connect, and later waits for a change since that mark. So a route that
/// appears during the try is not missed. The process has one netlink socket, which the first use opens on its loop and
/// which stays open. If the kernel provides none, each wait ends by itself after a second.
package final class RouteWatch: ReadinessHandler, LoopTimerTarget, @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`. Readiness is reported on one loop only, and the timer
    // belongs to one loop while `isTelling` is true.

    package static let shared = RouteWatch(openSocket: cll_route_socket)
    private static let unchanging = RouteWatch(openSocket: nil)

    /// The watch for `loop`. For a loop with a stepped clock the network never changes: the socket would stay with the
    /// loop that opens it, and such a loop ends before the process does.
    package static func watch(for loop: EventLoop) -> RouteWatch { loop.isStepped ? unchanging : shared }

    /// A moment from which on changes count.
    package struct Mark: Sendable, Equatable {
        fileprivate let changeCount: UInt64
        /// There was no subscription at that moment, so later changes are unknown.
        fileprivate let isUnmonitored: Bool
    }

    /// The source of changes: each message is a change.
    private struct NetlinkSubscription {
        let descriptor: Int32
        let registration: LoopRegistration
        let loop: EventLoop
    }

    /// A wait and its loop.
    private struct Waiting {
        let loop: EventLoop
        let wait: LoopBox<RouteWait>
    }

    private let openSocket: (@Sendable () -> Int32)?
    private let lock = Lock()
    /// By number, in the order of arrival.
    private var waiting: [Int: Waiting] = .withRoom()
    private var waitCount = 0
    private var changeCount: UInt64 = 0
    private var subscription: NetlinkSubscription?
    /// Whether the timer is armed. When it fires, all waits are notified.
    private(set) var isNotifying = false
    private let timer = LoopTimer()

    /// - Parameter openSocket: Nil if the network never changes.
    package init(openSocket: (@Sendable () -> Int32)?) { self.openSocket = openSocket }

    /// Whether the kernel has a route to arbitrary addresses, in either family. A container bridge or an interface with
    /// only its own network does not count.
    package static var hasRoute: Bool {
        // Addresses for documentation (RFC 5737, RFC 3849). Nothing is sent.
        ["192.0.2.1", "2001:db8::1"].contains { SocketAddress(literal: $0, port: 443)?.hasRoute ?? false }
    }

    /// The current moment. Called on `loop`.
    package func mark(on loop: EventLoop) -> Mark {
        lock.lock()
        defer { lock.unlock() }
        let isListening = listen(on: loop)
        return Mark(changeCount: changeCount, isUnmonitored: !isListening)
    }

    /// Calls `body` on `loop`, once and never within this call, soon after a change since `mark`. Called on `loop`.
    /// `RouteWait.end()` ends the wait.
    package func wait(since mark: Mark, on loop: EventLoop, _ body: @escaping () -> Void) -> RouteWait {
        lock.lock()
        waitCount &+= 1
        let wait = RouteWait(number: waitCount, of: self, on: loop, body)
        let box = Waiting(loop: loop, wait: LoopBox(wait))
        let isListening = listen(on: loop)
        let mayHaveChanged = isListening && (mark.isUnmonitored || mark.changeCount != changeCount)
        if isListening { waiting[wait.number] = box }
        lock.unlock()
        if mayHaveChanged {
            notifySoon(on: loop)
        } else if !isListening {
            wait.notifyLater()
        }
        return wait
    }

    /// Notifies all waits when a burst of changes is over. Called on `loop`.
    private func notifySoon(on loop: EventLoop) {
        let mustArm = lock.withLock {
            guard !isNotifying, !waiting.isEmpty else { return false }
            isNotifying = true
            return true
        }
        if mustArm { loop.arm(timer, at: loop.now + loop.limits.routeChangeDelay, for: self) }
    }

    package func timerFired(_ timer: LoopTimer) {
        let notified = lock.withLock {
            isNotifying = false
            defer { waiting = [:] }
            return waiting.sorted { $0.key < $1.key }
        }
        for (_, waiting) in notified { waiting.loop.post { [wait = waiting.wait] in wait.value.notify() } }
    }

    /// The number of waits for a change.
    package var waitingCount: Int { lock.withLock { waiting.count } }

    func forget(_ wait: RouteWait) { lock.withLock { waiting[wait.number] = nil } }

    /// Opens the socket if it is not open. Returns false if the kernel provides none. Called on `loop`, with the lock
    /// held.
    private func listen(on loop: EventLoop) -> Bool {
        guard subscription == nil, let openSocket else { return true }
        let descriptor = openSocket()
        guard descriptor >= 0 else { return false }
        guard let registration = loop.register(descriptor, self) else {
            close(descriptor)
            return false
        }
        subscription = NetlinkSubscription(descriptor: descriptor, registration: registration, loop: loop)
        return true
    }

    package func becameReady(_ readiness: Readiness) {
        guard let subscription = lock.withLock({ self.subscription }) else { return }
        // The contents of a change do not matter, because every wait leads to a new try. So only the first byte is
        // read.
        var hasChanged = false
        var byte: UInt8 = 0
        var count = cll_recv(subscription.descriptor, &byte, 1)
        var code = cll_errno()
        // ENOBUFS: the kernel has dropped messages, so there were changes.
        while count > 0 || count < 0 && code == ENOBUFS {
            hasChanged = true
            count = cll_recv(subscription.descriptor, &byte, 1)
            code = cll_errno()
        }
        let isBroken = count == 0 || code != EAGAIN && code != EWOULDBLOCK
        guard hasChanged || isBroken else { return }
        if isBroken {
            // The next call opens another socket.
            subscription.loop.unregister(subscription.descriptor, subscription.registration)
            close(subscription.descriptor)
        }
        NameResolver.forgetAllAnswers()
        ProxyResolver.shared.forgetAnswers()
        lock.withLock {
            changeCount &+= 1
            if isBroken { self.subscription = nil }
        }
        notifySoon(on: subscription.loop)
    }
}
