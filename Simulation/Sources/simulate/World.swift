import CSimulation

/// The hosts of a world, and what is wrong with them.
struct World {
    let servers: [OriginServer]

    init() {
        let names = (0..<1 + Dice.below(4)).map { "host\($0).example" }
        // A third of the worlds has no faults, so that everything has to succeed.
        isHonest = Dice.oneIn(3)
        var servers: [OriginServer] = []
        for (index, name) in names.enumerated() {
            let address = UInt32(0x0A00_0100 + index)
            var faults = OriginServer.Faults()
            if !isHonest {
                for fault: WritableKeyPath<OriginServer.Faults, Int> in [\.reset, \.truncation, \.silence]
                where Dice.oneIn(3) {
                    faults[keyPath: fault] = 2 + Dice.below(20)
                }
            }
            for fault: WritableKeyPath<OriginServer.Faults, Int> in [\.slowness, \.close] where Dice.oneIn(2) {
                faults[keyPath: fault] = 1 + Dice.below(8)
            }
            if !isHonest, Dice.oneIn(2) { faults.idleClose = 1 + Dice.below(3) }
            servers.append(OriginServer(name: name, address: address, faults: faults, others: names))
            let latency = Dice.seconds(Dice.oneIn(4) ? 0.4 : 0.02)
            var link = simulation_link()
            link.latency = latency
            link.jitter = Dice.oneIn(2) ? 0 : latency
            link.largest_segment = Int32(Dice.oneIn(4) ? 1 + Dice.below(100) : 16_384)
            link.send_buffer = Int32(Dice.oneIn(3) ? 1 + Dice.below(10_000) : 262_144)
            if !isHonest {
                if Dice.oneIn(4) { link.breaks_after = Int64(1 + Dice.size(upTo: 200_000)) }
                if Dice.oneIn(6) { link.silent_after = Int64(1 + Dice.size(upTo: 200_000)) }
            }
            simulation_set_link(address, link)
        }
        self.servers = servers
        if !isHonest, Dice.oneIn(3) { losePackets(of: UInt32(0x0A00_0100 + Dice.below(names.count))) }
        if Dice.oneIn(4) { jumpOfTheWallClock() }
    }

    /// For some seconds nothing passes.
    private func losePackets(of address: UInt32) {
        // The address as the context: it is no pointer that is read.
        let context = UnsafeMutableRawPointer(bitPattern: UInt(address))
        let start = Dice.seconds(3)
        simulation_after(start, { simulation_set_reachable(UInt32(UInt(bitPattern: $0)), false) }, context)
        simulation_after(
            start + Dice.seconds(90), { simulation_set_reachable(UInt32(UInt(bitPattern: $0)), true) }, context)
    }

    /// Up to a year forward or back, which no timeout may notice.
    private func jumpOfTheWallClock() {
        simulation_after(
            Dice.seconds(3), { _ in simulation_set_wall_clock((Dice.oneIn(2) ? 1 : -1) * Dice.seconds(365 * 86400)) },
            nil)
    }

    let isHonest: Bool
}
