/// Identifies a registered descriptor. The generation identifies stale registrations.
package struct LoopRegistration: Sendable, Equatable {
    let index: Int
    let generation: UInt32

    init(index: Int, generation: UInt32) {
        self.index = index
        self.generation = generation
    }

    init(token: UInt64) {
        index = Int(token & 0xFFFF_FFFF)
        generation = UInt32(truncatingIfNeeded: token >> 32)
    }

    var token: UInt64 { UInt64(generation) << 32 | UInt64(index) }
}
