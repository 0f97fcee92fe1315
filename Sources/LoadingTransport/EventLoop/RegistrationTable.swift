/// The registered descriptors of a loop. Confined to its loop.
///
/// Its memory follows the number of descriptors, as a process that once had thousands may live for long with a few.
struct RegistrationTable {
    private struct Entry {
        var handler: (any ReadinessHandler)?
        var generation: UInt32
    }

    private var entries: [Entry] = []
    /// The indices of entries without a handler.
    private var free: [Int] = []
    /// Counts all registrations, so that entries need not outlive them.
    private var generation: UInt32 = 0

    /// The number of registrations at which the table shrinks, if the last entries are free.
    private var sparseCount = 0

    var count: Int { entries.count - free.count }
    var capacity: Int { entries.capacity }

    mutating func insert(_ handler: any ReadinessHandler) -> LoopRegistration {
        generation &+= 1
        let entry = Entry(handler: handler, generation: generation)
        if let index = free.popLast() {
            entries[index] = entry
            return LoopRegistration(index: index, generation: generation)
        }
        entries.append(entry)
        sparseCount = entries.count / 4
        return LoopRegistration(index: entries.count - 1, generation: generation)
    }

    /// Returns the handler, for the caller to release: its deinitialiser may use the table. Nil if it was removed
    /// before.
    mutating func remove(_ registration: LoopRegistration) -> (any ReadinessHandler)? {
        guard let handler = handler(of: registration) else { return nil }
        entries[registration.index].handler = nil
        free.append(registration.index)
        if count <= sparseCount, entries.capacity > EventLoop.keptCapacity { shrink() }
        return handler
    }

    /// Removes the free entries at the end.
    private mutating func shrink() {
        let used = 1 + (entries.lastIndex { $0.handler != nil } ?? -1)
        guard used <= entries.count / 2 else {
            // It would not be worth the time to look at each removal.
            sparseCount = count / 2
            return
        }
        entries = Array(entries[..<used])
        // The lowest index is taken first, so that the end becomes free again.
        free = entries.indices.reversed().filter { entries[$0].handler == nil }
        sparseCount = used / 4
    }

    /// Nil if the registration was removed.
    @inline(__always)
    func handler(of registration: LoopRegistration) -> (any ReadinessHandler)? {
        guard registration.index < entries.count,
            entries[registration.index].generation == registration.generation
        else { return nil }
        return entries[registration.index].handler
    }
}

/// Identifies a registered descriptor. The generation distinguishes it from earlier ones with the same index, whose
/// events may already be fetched.
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
