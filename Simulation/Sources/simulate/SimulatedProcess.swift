import CSimulation
import Foundation

/// The process of one world.
enum SimulatedProcess {
    /// Which worlds there are, if the seed does not decide it.
    enum Kind: String {
        /// One with a background session for days.
        case week = "--week"
        /// One without HTTP/3, background sessions, networks that change and disks that hang.
        case proven = "--proven"
    }

    /// The parameters of the process.
    struct Options {
        var seed: UInt64 = 0
        /// Of the threads: another order for the same world.
        var order: UInt64 = 0
        var only: [String]?
        var traces = false
        var kind: Kind?
        var arguments: [String] {
            var arguments = ["\(seed)", "--order", "\(order)"]
            if let only { arguments += ["--only", only.joined(separator: ",")] }
            return arguments + (kind.map { [$0.rawValue] } ?? []) + (traces ? ["--trace"] : [])
        }

        init(seed: UInt64) { self.seed = seed }

        init?(_ arguments: ArraySlice<String>) {
            var rest = arguments
            guard let seed = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
            self.seed = seed
            while let option = rest.popFirst() {
                switch option {
                case "--trace": traces = true
                case Kind.week.rawValue: kind = .week
                case Kind.proven.rawValue: kind = .proven
                case "--order":
                    guard let order = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
                    self.order = order
                case "--only":
                    guard let parts = rest.popFirst() else { return nil }
                    only = parts.split(separator: ",").map(String.init)
                default: return nil
                }
            }
        }
    }

    /// The folder that is the world's disk.
    static let disk = ProcessInfo.processInfo.environment["HOME"] ?? ""
    /// A file beside the world's disk.
    static func outside(_ name: String) -> String {
        URL(fileURLWithPath: disk).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// Forks a process for each world that is asked for.
    static func runAll(_ arguments: [String]) -> Never {
        // The library reads them when it first needs the system's roots.
        let roots = outside("roots.pem")
        setenv("SSL_CERT_FILE", roots, 1)
        setenv("SSL_CERT_DIR", outside("none"), 1)
        Preparation.run(roots: roots)
        var before = simulation_state()
        let isCaptured = arguments.last == "--captured"
        let line = simulation_next_world(
            outside("output"), isCaptured ? outside("errors") : nil, isCaptured ? outside("events") : nil,
            Int32(arguments[0]) ?? -1, &before)
        // A line is what simulation_next_world returns with, and this program has written it.
        let words = String(cString: line!).split(separator: "\t").map(String.init)
        run(Options(words[...])!, after: before)
    }

    /// - Parameter before: Where the world was when the power failed.
    private static func run(_ process: Options, after before: simulation_state) -> Never {
        var options = simulation_options()
        options.seed = process.seed
        options.order = process.order
        Choices.seed = process.seed
        World.kind = process.kind
        let isForBackground = BackgroundPlan.isWanted
        options.limit = isForBackground ? BackgroundPlan.limit : 2 * 3600 * second
        // Processes take turns at a higher cost.
        let preemptions: [UInt32] = isForBackground ? [2, 8, 32, 128] : [8, 32, 128, 256]
        options.preemption = preemptions[Int(process.seed % 4)]
        options.traces = process.traces
        options.before = before
        options.has_processes = isForBackground
        Parts.only = process.only.map { Set($0) }
        simulation_begin(options)
        simulation_mount(Self.disk)
        let world = World(isForBackground: isForBackground)
        if isForBackground {
            BackgroundWork(in: world).run()
        } else {
            if before.clock == 0 { PowerCut.prepare(on: world.disk) } else { PowerCut.check() }
            Work(in: world).run()
        }
        // Not exit(): other threads of the world would run on while the process is taken down.
        let hash = String(simulation_hash(), radix: 16)
        print("\(process.seed) \(simulation_events()) \(hash) \(simulation_now() / 1_000_000)")
        fflush(nil)
        _exit(0)
    }
}
