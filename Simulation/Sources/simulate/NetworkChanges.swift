import CSimulation
import Foundation

/// The machine loses its network, gets it back, or moves to another one.
struct NetworkChanges {
    private enum Kind: CaseIterable {
        /// It is away for some time, and comes back as it was.
        case absence
        /// The same, and the addresses are others.
        case move
        /// The addresses are others at once.
        case change
        /// Of two families one is away for some time.
        case absenceOfIPv4, absenceOfIPv6
    }

    /// When the last one is over.
    private let end: simulation_time
    /// Of the addresses that are used one after the other.
    private static let ipv4: simulation_address = 0x0A00_0001
    private static let ipv6 = simulation_ipv6 + 1

    /// Addresses that the world begins with.
    static func begin(hasIPv6: Bool) { simulation_set_network(ipv4, hasIPv6 ? ipv6 : 0) }

    /// Nil if nothing changes.
    init?(hasIPv6: Bool, isForBackground: Bool) {
        let choices = Choices("network changes")
        guard choices.oneIn(6), World.kind != .proven, Parts.has("network changes") else { return nil }
        // A background session goes on for longer.
        let longest: Double = isForBackground ? 7200 : 100, pause: Double = isForBackground ? 600 : 10
        var date = choices.seconds(choices.oneIn(2) ? 1 : pause), addresses = (ipv4: Self.ipv4, ipv6: Self.ipv6)
        for index in 0..<1 + choices.below(3) {
            let kind = choices.pick(Kind.allCases), isLong = choices.oneIn(4)
            let later = date + (kind == .change ? 0 : choices.seconds(isLong ? longest : 3))
            if kind == .move || kind == .change {
                (addresses.ipv4, addresses.ipv6) = (addresses.ipv4 + 1, addresses.ipv6 + 1)
            }
            if Parts.has("network change \(index)") {
                let after = Addresses(ipv4: addresses.ipv4, ipv6: hasIPv6 ? addresses.ipv6 : 0)
                if let meanwhile = Self.addresses(during: kind, before: after) { meanwhile.set(at: date) }
                after.set(at: later)
            }
            date = later + choices.seconds(pause)
        }
        end = simulation_now() + date
    }

    /// 0 for none.
    private struct Addresses {
        var ipv4: simulation_address = 0, ipv6: simulation_address = 0

        func set(at date: simulation_time) { Later.after(date) { simulation_set_network(ipv4, ipv6) } }
    }

    /// Between two states; nil if one follows the other.
    private static func addresses(during kind: Kind, before after: Addresses) -> Addresses? {
        switch kind {
        case .change: nil
        case .absence, .move: Addresses()
        case .absenceOfIPv6: Addresses(ipv4: after.ipv4)
        // A machine without IPv6 loses nothing else.
        case .absenceOfIPv4: after.ipv6 == 0 ? after : Addresses(ipv6: after.ipv6)
        }
    }

    /// Until the network has not changed for so long that a request has to succeed.
    func waitForEnd() {
        let settled = end + 15 * second
        while simulation_now() < settled { usleep(1_000_000) }
    }
}
