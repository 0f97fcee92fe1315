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
    init?(hasIPv6: Bool) {
        let choices = Choices("network changes")
        guard choices.oneIn(6), World.kind != .proven, Parts.has("network changes") else { return nil }
        var date = choices.seconds(choices.oneIn(2) ? 1 : 10), addresses = (ipv4: Self.ipv4, ipv6: Self.ipv6)
        for index in 0..<1 + choices.below(3) {
            let kind = choices.pick(Kind.allCases), isLong = choices.oneIn(4)
            let later = date + (kind == .change ? 0 : choices.seconds(isLong ? 100 : 3))
            if kind == .move || kind == .change {
                (addresses.ipv4, addresses.ipv6) = (addresses.ipv4 + 1, addresses.ipv6 + 1)
            }
            let after = addresses
            if Parts.has("network change \(index)") {
                let hasIPv4 = kind == .absenceOfIPv6 || kind == .absenceOfIPv4 && !hasIPv6
                let keepsIPv6 = kind == .absenceOfIPv4 && hasIPv6
                if kind != .change {
                    Later.after(date) {
                        simulation_set_network(hasIPv4 ? after.ipv4 : 0, keepsIPv6 ? after.ipv6 : 0)
                    }
                }
                Later.after(later) { simulation_set_network(after.ipv4, hasIPv6 ? after.ipv6 : 0) }
            }
            date = later + choices.seconds(10)
        }
        end = simulation_now() + date
    }

    /// Until the network has not changed for so long that a request has to succeed.
    func waitForEnd() {
        let settled = end + 15 * second
        while simulation_now() < settled { usleep(1_000_000) }
    }
}
