import CSimulation

/// The hosts of a world, and what is wrong with them.
struct World {
    struct Host {
        var server: OriginServer
        /// Whether every load from it has to succeed.
        var isFaultless: Bool
        var name: String { server.name }
    }

    let hosts: [Host]
    /// A name without an address, and one whose host takes no connection.
    static let unknownName = "unknown.example"
    static let closedName = "closed.example"

    var isFaultless: Bool { hosts.allSatisfy(\.isFaultless) }

    init() {
        let names = (0..<1 + Dice.below(4)).map { "host\($0).example" }
        // A third of the worlds has no faults, so that everything has to succeed.
        let isFaultless = Dice.oneIn(3)
        hosts = names.enumerated().map { index, name in
            let address = UInt32(0x0A00_0100 + index)
            let isFaultless = isFaultless || Dice.oneIn(3)
            Self.makeLink(to: address, isFaultless: isFaultless)
            let server = OriginServer(
                name: name, address: address, faults: Self.faults(isFaultless: isFaultless), others: names)
            if !isFaultless, Dice.oneIn(6) { Self.losePackets(of: address) }
            return Host(server: server, isFaultless: isFaultless)
        }
        simulation_add_name(Self.closedName, 0x0A00_0200)
        if Dice.oneIn(4) { Self.jumpOfTheWallClock() }
    }

    private static func faults(isFaultless: Bool) -> OriginServer.Faults {
        var faults = OriginServer.Faults()
        for fault: WritableKeyPath<OriginServer.Faults, Int> in [\.slowness, \.close] where Dice.oneIn(2) {
            faults[keyPath: fault] = 1 + Dice.below(8)
        }
        if isFaultless { return faults }
        for fault: WritableKeyPath<OriginServer.Faults, Int> in [\.reset, \.truncation, \.silence] where Dice.oneIn(3) {
            faults[keyPath: fault] = 2 + Dice.below(20)
        }
        if Dice.oneIn(2) { faults.idleClose = 1 + Dice.below(3) }
        return faults
    }

    private static func makeLink(to address: UInt32, isFaultless: Bool) {
        let latency = Dice.seconds(Dice.oneIn(4) ? 0.4 : 0.02)
        var link = simulation_link()
        link.latency = latency
        link.jitter = Dice.oneIn(2) ? 0 : latency
        link.largest_segment = Int32(Dice.oneIn(4) ? 1 + Dice.below(100) : 16_384)
        // Not so small that the largest body takes hours.
        link.send_buffer = Int32(Dice.oneIn(3) ? 1000 + Dice.below(10_000) : 262_144)
        if !isFaultless {
            if Dice.oneIn(4) { link.breaks_after = Int64(1 + Dice.size(upTo: 200_000)) }
            if Dice.oneIn(6) { link.silent_after = Int64(1 + Dice.size(upTo: 200_000)) }
        }
        simulation_set_link(address, link)
    }

    /// For some seconds nothing passes.
    private static func losePackets(of address: UInt32) {
        // The address as the context: it is no pointer that is read.
        let context = UnsafeMutableRawPointer(bitPattern: UInt(address))
        let start = Dice.seconds(3)
        simulation_after(start, { simulation_set_reachable(UInt32(UInt(bitPattern: $0)), false) }, context)
        simulation_after(
            start + Dice.seconds(90), { simulation_set_reachable(UInt32(UInt(bitPattern: $0)), true) }, context)
    }

    /// Up to a year forward or back, which no timeout may notice.
    private static func jumpOfTheWallClock() {
        simulation_after(
            Dice.seconds(3), { _ in simulation_set_wall_clock((Dice.oneIn(2) ? 1 : -1) * Dice.seconds(365 * 86400)) },
            nil)
    }
}
