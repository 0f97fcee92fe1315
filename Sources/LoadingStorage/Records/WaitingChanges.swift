/// Changes that wait to be written: of each record the last one, so that however many come, there are no more than there are
/// records.
package struct WaitingChanges<Record: ArchivedRecord>: Sendable {
    package typealias Change = RecordChange<Record>

    private struct Entry: Sendable {
        let number: UInt64
        /// Nil if it is to be removed.
        let record: Record?
    }

    /// More removals than these are not waited with: what servers have come and go is not counted by what is there.
    private static var mostRemovals: Int { 20_000 }

    /// Whether all that was there before is to be removed first.
    private var isEverythingRemoved = false
    private var entries: [Record.Identity: Entry] = [:]
    private var removalCount = 0
    private var nextNumber: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { entries.isEmpty && !isEverythingRemoved }
    package var count: Int { entries.count + (isEverythingRemoved ? 1 : 0) }

    package mutating func add(_ change: Change) {
        switch change {
        case .stored(let record): put(record, for: record.identity)
        case .removed(let identity): put(nil, for: identity)
        case .everythingRemoved:
            entries = [:]
            removalCount = 0
            isEverythingRemoved = true
        }
    }

    package mutating func add(_ changes: some Sequence<Change>) { for change in changes { add(change) } }

    private mutating func put(_ record: Record?, for identity: Record.Identity) {
        if let before = entries.removeValue(forKey: identity), before.record == nil { removalCount -= 1 }
        if record == nil {
            // Of what was stored after everything was removed nothing is there yet.
            if isEverythingRemoved || removalCount == Self.mostRemovals { return }
            removalCount += 1
        }
        entries[identity] = Entry(number: nextNumber, record: record)
        nextNumber += 1
    }

    /// In the order in which they came.
    package var list: [Change] {
        let changes = entries.sorted { $0.value.number < $1.value.number }.map { identity, entry in
            entry.record.map { Change.stored($0) } ?? .removed(identity)
        }
        return isEverythingRemoved ? [.everythingRemoved] + changes : changes
    }
}
