internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
package import LoadingTransport

/// Tells when links, addresses or routes of this machine change, by rtnetlink, and whether it has any way out.
///
/// One netlink socket for the process, opened on the loop of whoever asks first and kept from then on.
package final class RouteWatch: ReadinessHandler, @unchecked Sendable {
    // Sendable because `waiting` and `descriptor` are guarded by `lock`; readiness comes on one loop only.

    package static let shared = RouteWatch()

    private let lock = Lock()
    private var waiting: [@Sendable () -> Void] = []
    private var descriptor: Int32 = -1

    private init() {}

    /// Whether an interface other than loopback is up and has an address beyond its own link.
    package static var hasRoute: Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var entry = list
        while let interface = entry {
            entry = interface.pointee.ifa_next
            let flags = interface.pointee.ifa_flags
            guard flags & UInt32(IFF_UP) != 0, flags & UInt32(IFF_LOOPBACK) == 0,
                let address = interface.pointee.ifa_addr
            else { continue }
            let family = Int32(address.pointee.sa_family)
            if family == AF_INET { return true }
            if family == AF_INET6 {
                let isLinkLocal = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    withUnsafeBytes(of: $0.pointee.sin6_addr) { $0[0] == 0xFE && $0[1] & 0xC0 == 0x80 }
                }
                if !isLinkLocal { return true }
            }
        }
        return false
    }

    /// Calls `body` on `loop`, once, after the next change.
    package func notifyOnce(on loop: EventLoop, _ body: @escaping () -> Void) {
        let box = LoopBox(body)
        lock.lock()
        waiting.append { loop.post { box.value() } }
        let mustOpen = descriptor < 0
        if mustOpen { descriptor = cll_route_socket() }
        let opened = descriptor
        lock.unlock()
        guard mustOpen, opened >= 0 else { return }
        _ = loop.register(opened, self)
    }

    package func becameReady(_ readiness: Readiness) {
        // What changed does not matter: everybody who waits tries again.
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        var hasChanged = false
        while true {
            let count = buffer.withUnsafeMutableBytes { cll_recv(descriptor, $0.baseAddress, $0.count) }
            // More has changed than the kernel could keep for us.
            let hasMissed = count < 0 && cll_errno() == ENOBUFS
            guard count > 0 || hasMissed else { break }
            hasChanged = true
        }
        guard hasChanged else { return }
        NameResolver.shared.forgetAnswers()
        let called = lock.withLock {
            defer { waiting = [] }
            return waiting
        }
        for body in called { body() }
    }
}
