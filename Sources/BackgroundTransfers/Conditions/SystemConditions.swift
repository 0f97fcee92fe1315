internal import CLoadingLinux
internal import LoadingSemantics
package import LoadingTransport

/// Whether this is a good time for discretionary transfers (BG-16, BG-23): the machine has mains power, by UPower, and
/// its network is not metered, by NetworkManager. Confined to its loop.
///
/// Where one of them does not run, it forbids nothing. There is a connection to the system bus only between `watch`
/// and `unwatch`, and it wakes nothing up while nothing changes.
package final class SystemConditions: LoopTimerTarget {
    /// What discretionary transfers wait for.
    package enum Waiting: Equatable, Sendable {
        /// The machine runs on battery.
        case power
        /// The network is metered.
        case metered
    }

    private struct Connection {
        let bus: BusClient
        let power: DaemonProperty
        let network: DaemonProperty
    }

    private struct Conclusion {
        var isKnown = false
        var reason: Waiting?
    }

    private let loop: EventLoop
    private let address: String?
    private let changed: () -> Void
    private var isWatching = false
    private var connection: Connection?
    private var conclusion = Conclusion()
    /// How often a connection was tried again since `watch`.
    private var tries = 0
    private let timer = LoopTimer()

    /// Decision: with doubled delays from `busRetry`, about a minute. A bus that is back later is found by the next
    /// `watch`.
    private static let mostTries = 6

    /// - Parameter changed: Called on the loop after each change of `allowsDiscretionary` or `reason`, never from
    ///   within `watch` or `unwatch`.
    package convenience init(on loop: EventLoop, changed: @escaping () -> Void) {
        let address = SystemBus.address { name in cll_environment(name).map { String(cString: $0) } }
        self.init(on: loop, busAddress: address, changed: changed)
    }

    /// - Parameter busAddress: Nil if there is no bus.
    package init(on loop: EventLoop, busAddress: String?, changed: @escaping () -> Void) {
        self.loop = loop
        self.address = busAddress
        self.changed = changed
    }

    /// False while nothing is known.
    package var allowsDiscretionary: Bool { conclusion.isKnown && conclusion.reason == nil }
    /// Nil if nothing forbids discretionary transfers, and while nothing is known.
    package var reason: Waiting? { conclusion.reason }

    /// Begins to follow the conditions. Nothing is known until the daemons have replied, which takes milliseconds.
    package func watch() {
        guard !isWatching else { return }
        isWatching = true
        tries = 0
        connect()
        guard connection == nil else { return }
        let box = LoopBox(self, on: loop)
        loop.post { if box.value.isWatching { box.value.set(Conclusion(isKnown: true)) } }
    }

    package func unwatch() {
        isWatching = false
        loop.disarm(timer)
        disconnect()
        conclusion = Conclusion()
    }

    private func connect() {
        guard let address else { return }
        let bus = BusClient(on: loop, address: address) { [weak self] signal in
            self?.connection?.power.handle(signal)
            self?.connection?.network.handle(signal)
        } ended: { [weak self] failure in
            self?.lost(failure)
        }
        let conclude = { [weak self] () -> Void in self?.conclude() }
        connection = Connection(
            bus: bus, power: DaemonProperty(.onBattery, on: bus, changed: conclude),
            network: DaemonProperty(.metered, on: bus, changed: conclude))
    }

    private func disconnect() {
        connection?.bus.close()
        connection = nil
    }

    private func conclude() {
        // At the end of a connection the properties lose their values first.
        guard let connection, !connection.bus.hasEnded else { return }
        var new = Conclusion(isKnown: connection.power.isKnown && connection.network.isKnown)
        if connection.power.value == .boolean(true) {
            new.reason = .power
        } else if case .uint32(let value)? = connection.network.value, Self.metered.contains(value) {
            new.reason = .metered
        }
        set(new)
    }

    /// `NM_METERED_YES` and `NM_METERED_GUESS_YES`.
    private static let metered: [UInt32] = [1, 3]

    private func set(_ new: Conclusion) {
        let before = (allowsDiscretionary, reason)
        conclusion = new
        if before != (allowsDiscretionary, reason) { changed() }
    }

    /// There is no bus, or none any more.
    private func lost(_ failure: BusFailure) {
        disconnect()
        // A bus that is restarted is missing for a moment.
        if failure == .connectionLost || tries > 0, tries < Self.mostTries {
            loop.arm(timer, at: loop.now + loop.limits.busRetry << Int64(tries), for: self)
            tries += 1
        }
        set(Conclusion(isKnown: true))
    }

    package func timerFired(_ timer: LoopTimer) { connect() }
}
