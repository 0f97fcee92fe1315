internal import CTestTLS
package import Testing

/// A network with nothing in it but a loopback interface, which can be cut and mended.
///
/// The kernel gives it to a thread, and to the threads that this one starts from then on. So it is entered first of
/// all, in a process of its own (an exit test), and what needs it is made and awaited without ever suspending.
package enum EmptyNetwork {
    /// Whether this process may make networks, which takes an administrator's right.
    package static let isAvailable: Bool = {
        let isAllowed = Watched(false)
        // On a thread that ends: there is no way back.
        let thread = try? JoinableThread(name: "test-network") {
            isAllowed.withValue { $0 = ctt_leave_network() == 0 }
        }
        thread?.join()
        return isAllowed.current
    }()

    /// Has the calling thread leave the machine's network.
    package static func enter() throws {
        guard ctt_leave_network() == 0 else { throw POSIXFailure("unshare") }
    }

    /// Down, nothing can be reached, not even this machine; up, this machine alone.
    package static func setLoopback(isUp: Bool) throws {
        guard ctt_set_loopback(isUp ? 1 : 0) == 0 else { throw POSIXFailure("ioctl") }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test where no networks can be made.
    package static var needsEmptyNetwork: Self {
        .enabled(if: EmptyNetwork.isAvailable, "networks can be made by an administrator only")
    }
}
