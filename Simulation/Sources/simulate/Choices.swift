import CSimulation

/// Choices for one part of a world. They follow from the seed and from the part's name only, so that another part can
/// be left out, or the threads can run in another order, and these stay as they are.
final class Choices {
    nonisolated(unsafe) static var seed: UInt64 = 0
    private var state: UInt64

    init(_ part: String) {
        // FNV-1a.
        var hash: UInt64 = 14_695_981_039_346_656_037
        for byte in part.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
        state = Self.seed &* 0x9E37_79B9_7F4A_7C15 ^ hash
    }

    /// SplitMix64.
    private func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    func below(_ bound: Int) -> Int { Int(next() >> 11) % max(bound, 1) }
    func oneIn(_ number: Int) -> Bool { below(number) == 0 }
    func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
    /// Mostly small, now and then as large as `most`.
    func size(upTo most: Int) -> Int {
        let isLarge = oneIn(4)
        return below((isLarge ? most : min(most, 4000)) + 1)
    }
    func seconds(_ most: Double) -> simulation_time { simulation_time(below(Int(most * 1_000_000))) * 1000 }
}

let second: simulation_time = 1_000_000_000
