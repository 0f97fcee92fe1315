import CSimulation
import Foundation

/// The process of one world.
enum SimulatedProcess {
    /// Does not return.
    static func run(seed: UInt64, traces: Bool) -> Never {
        var options = simulation_options()
        options.seed = seed
        options.limit = 2 * 3600 * second
        options.preemption = UInt32([8, 32, 128, 256][Int(seed % 4)])
        options.traces = traces
        simulation_begin(options)
        let world = World()
        Work(in: world).run()
        // Not exit(): other threads of the world would run on while the process is taken down.
        print("\(seed) \(simulation_events()) \(String(simulation_hash(), radix: 16)) \(simulation_now() / 1_000_000)")
        fflush(nil)
        _exit(0)
    }
}
