import Foundation

/// What the program is asked for.
enum Campaign {
    static let usage = """
        usage: simulate --seeds FIRST...LAST [--proven] [--once | --sampled]
                                                run these worlds, each twice; once, or one in eight twice
               simulate --seconds N [--proven]  run new worlds for so long, and one in eight twice
               simulate --weeks FIRST...LAST [--once | --sampled]
                                                the same, and each has a background session for days
               simulate --seed N [--order K] [--only PARTS] [--week | --proven] [--trace]
                                                run one, and show what happens in it
               simulate --shrink N              fewer hosts, tasks and faults with which world N still fails

        --proven is for worlds without HTTP/3, background sessions, networks that change and disks that hang,
        which take less time.

        """

    static func run(_ arguments: [String]) -> Int32 {
        var arguments = arguments[...]
        let option = arguments.popFirst()
        let value = arguments.popFirst()
        switch (option, value) {
        case ("--seed", let value?):
            guard let world = SimulatedProcess.Options([value] + arguments) else { break }
            let result = WorldProcess(isCaptured: false).run(world)
            print(result.output, terminator: "")
            FileHandle.standardError.write(Data(result.errors.utf8))
            return result.status
        case ("--shrink", let value?):
            guard let seed = UInt64(value) else { break }
            return Shrinking(of: seed).run()
        case ("--seeds", let value?), ("--weeks", let value?):
            let bounds = value.components(separatedBy: "...").compactMap { UInt64($0) }
            guard bounds.count == 2, bounds[0] <= bounds[1] else { break }
            let kind = takeKind(&arguments) ?? (option == "--weeks" ? .week : nil)
            guard let repetition = Runs.Repetition(arguments) else { break }
            return Runs(bounds[0]...bounds[1], for: nil, repetition, kind: kind).run()
        case ("--seconds", let value?):
            let kind = takeKind(&arguments)
            guard let seconds = Double(value), arguments.isEmpty else { break }
            let first = UInt64(Date().timeIntervalSince1970) * 1000
            print("from seed \(first)")
            return Runs(first...UInt64.max, for: seconds, .sampled, kind: kind).run()
        default: break
        }
        FileHandle.standardError.write(Data(usage.utf8))
        return 2
    }

    private static func takeKind(_ arguments: inout ArraySlice<String>) -> SimulatedProcess.Kind? {
        guard arguments.first == SimulatedProcess.Kind.proven.rawValue else { return nil }
        arguments.removeFirst()
        return .proven
    }
}
