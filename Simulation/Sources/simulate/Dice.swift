import CSimulation

/// Choices that the seed makes.
enum Dice {
    static func below(_ bound: Int) -> Int { Int(simulation_random(UInt64(max(bound, 1)))) }
    static func oneIn(_ number: Int) -> Bool { below(number) == 0 }
    static func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
    /// Mostly small, now and then as large as `most`.
    static func size(upTo most: Int) -> Int { oneIn(4) ? below(most + 1) : below(min(most, 4000) + 1) }
    static func seconds(_ most: Double) -> simulation_time { simulation_time(below(Int(most * 1_000_000))) * 1000 }
}

let second: simulation_time = 1_000_000_000
