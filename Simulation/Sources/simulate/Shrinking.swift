import Foundation

/// Leaves out parts of a world that fails, as long as the rest fails in the same way.
struct Shrinking {
    private let seed: UInt64
    private let process = WorldProcess()
    /// What a failure may need is an order of the threads, and each world that is tried has another one for the same
    /// seed.
    private static let orders: Range<UInt64> = 0..<12

    init(of seed: UInt64) { self.seed = seed }

    private struct Failure {
        var order: UInt64
        /// The exit status, and the law without its numbers.
        var kind: String
        var message: String
        /// What the world had until it failed.
        var parts: [String]
    }

    func run() -> Int32 {
        guard var found = fails(only: nil, first: 0, as: nil) else {
            print("seed \(seed) does not fail")
            return 2
        }
        print("seed \(seed): \(found.message)\n\(found.parts.count) parts")
        var size = max(1, found.parts.count / 2)
        while true {
            var place = 0, hasShrunk = false
            while place < found.parts.count {
                var rest = found.parts
                rest.removeSubrange(place..<min(place + size, rest.count))
                if let failure = fails(only: rest, first: found.order, as: found.kind) {
                    found = failure
                    hasShrunk = true
                } else {
                    place += size
                }
            }
            if size == 1, !hasShrunk { break }
            size = max(1, size / 2)
        }
        var world = SimulatedProcess.Options(seed: seed)
        (world.order, world.only) = (found.order, found.parts)
        let arguments = world.arguments.map { $0.contains(" ") ? "'\($0)'" : $0 }.joined(separator: " ")
        print("\(found.parts.count) parts are left: \(found.message)\nTo see it: simulate --seed \(arguments) --trace")
        return 1
    }

    private func fails(only parts: [String]?, first: UInt64, as kind: String?) -> Failure? {
        for order in [first] + Self.orders.filter({ $0 != first }) {
            var world = SimulatedProcess.Options(seed: seed)
            (world.order, world.only, world.traces) = (order, parts, true)
            let result = process.run(world)
            guard result.status != 0 else { continue }
            let failure = Self.failure(order, result, of: parts)
            if kind == nil || kind == failure.kind { return failure }
        }
        return nil
    }

    private static func failure(_ order: UInt64, _ result: WorldProcess.Result, of parts: [String]?) -> Failure {
        let lines = result.errors.split(separator: "\n")
        let law = lines.last {
            $0.hasPrefix("broken law") || $0.hasPrefix("simulation, seed") || $0.contains("Fatal error")
        }
        let message = law.map(String.init) ?? "status \(result.status)"
        var seen: Set<String> = [], found: [String] = []
        for line in lines {
            guard let mark = line.range(of: Parts.mark) else { continue }
            let part = String(line[mark.upperBound...])
            if parts?.contains(part) ?? true, seen.insert(part).inserted { found.append(part) }
        }
        let kind = "\(result.status) " + message.filter { !$0.isNumber }
        return Failure(order: order, kind: kind, message: message, parts: found)
    }
}
