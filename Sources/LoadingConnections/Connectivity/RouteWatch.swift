internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingTransport

/// Tells when links, addresses or routes of this machine change, by rtnetlink, and whether it has any way out.
///
/// Who may come to wait takes a mark before he tries to connect, and waits for a change since that mark: so a route
/// that appears while he tries is not missed. One netlink socket for the process, opened on the loop of whoever asks
/// first and kept from then on. While the kernel gives none, waiting ends after a second by itself.
package final class RouteWatch: ReadinessHandler, LoopTimerTarget, @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`; readiness comes on one loop only, and the timer is that of
    // one loop as long as `isTelling`.

    package static let shared = RouteWatch(openSocket: cll_route_socket)
    private static let unchanging = RouteWatch(openSocket: nil)

    /// The watch for what runs on `loop`. The network of a loop with a stepped clock never changes: the socket stays with the
    /// loop that opens it, and such a loop ends before the process does.
    package static func watch(for loop: EventLoop) -> RouteWatch { loop.isStepped ? unchanging : shared }

    /// A moment from which on changes count.
    package struct Mark: Sendable, Equatable {
        fileprivate let changeCount: UInt64
        /// There was no subscription then, so changes since are unknown.
        fileprivate let isUnmonitored: Bool
    }

    /// What the watch listens to: each message is a change.
    private struct NetlinkSubscription {
        let descriptor: Int32
        let registration: LoopRegistration
        let loop: EventLoop
    }

    /// Somebody on some loop.
    private struct Waiting {
        let loop: EventLoop
        let wait: LoopBox<RouteWait>
    }

    private let openSocket: (@Sendable () -> Int32)?
    private let lock = Lock()
    /// By number, in the order in which they came.
    private var waiting: [UInt64: Waiting] = [:]
    private var waitCount: UInt64 = 0
    private var changeCount: UInt64 = 0
    private var subscription: NetlinkSubscription?
    /// Whether the timer is armed, and those who wait will be told when it fires.
    private(set) var isTelling = false
    private let timer = LoopTimer()

    /// - Parameter openSocket: Nil where nothing ever changes.
    package init(openSocket: (@Sendable () -> Int32)?) { self.openSocket = openSocket }

    /// Whether the kernel has a way to addresses that are nobody's in particular, in either family. A bridge for containers or
    /// an interface that leads to its own network alone is no way out.
    package static var hasRoute: Bool {
        // Of those that are kept for documents (RFC 5737, RFC 3849). Nothing is sent.
        ["192.0.2.1", "2001:db8::1"].contains { SocketAddress(literal: $0, port: 443)?.hasRoute ?? false }
    }

    /// The present moment. Called on `loop`.
    package func mark(on loop: EventLoop) -> Mark {
        lock.lock()
        defer { lock.unlock() }
        let isListening = listen(on: loop)
        return Mark(changeCount: changeCount, isUnmonitored: !isListening)
    }

    /// Calls `body` on `loop`, once and never within this call, soon after something has changed since `mark`. Called on
    /// `loop`; who waits no more says so with `RouteWait.end()`.
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
            tellSoon(on: loop)
        } else if !isListening {
            wait.tellLater()
        }
        return wait
    }

    /// Has those who wait told when the burst is over. Called on `loop`.
    private func tellSoon(on loop: EventLoop) {
        let mustArm = lock.withLock {
            guard !isTelling, !waiting.isEmpty else { return false }
            isTelling = true
            return true
        }
        if mustArm { loop.arm(timer, at: loop.now + loop.limits.routeChangeDelay, for: self) }
    }

    package func timerFired(_ timer: LoopTimer) {
        let told = lock.withLock {
            isTelling = false
            defer { waiting = [:] }
            return waiting.sorted { $0.key < $1.key }
        }
        for (_, waiting) in told { waiting.loop.post { [wait = waiting.wait] in wait.value.tell() } }
    }

    /// How many wait for a change.
    package var waitingCount: Int { lock.withLock { waiting.count } }

    func forget(_ wait: RouteWait) { lock.withLock { waiting[wait.number] = nil } }

    /// Opens the socket unless that has been done; false when the kernel gives none. Called on `loop`, with the lock
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
        // What changed does not matter, so the first byte of each message will do: everybody who waits tries again.
        var hasChanged = false
        var byte: UInt8 = 0
        var count = cll_recv(subscription.descriptor, &byte, 1)
        var code = cll_errno()
        // ENOBUFS: more has changed than the kernel could keep for us.
        while count > 0 || count < 0 && code == ENOBUFS {
            hasChanged = true
            count = cll_recv(subscription.descriptor, &byte, 1)
            code = cll_errno()
        }
        let isBroken = count == 0 || code != EAGAIN && code != EWOULDBLOCK
        guard hasChanged || isBroken else { return }
        if isBroken {
            // The next call opens another one.
            subscription.loop.unregister(subscription.descriptor, subscription.registration)
            close(subscription.descriptor)
        }
        NameResolver.forgetAllAnswers()
        ProxyResolver.shared.forgetAnswers()
        lock.withLock {
            changeCount &+= 1
            if isBroken { self.subscription = nil }
        }
        tellSoon(on: subscription.loop)
    }
}
