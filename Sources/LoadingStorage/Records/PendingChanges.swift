/// Changes that wait to be written, coalesced to the last one per record.
///
/// The number of removals is bounded: by the known records, plus a limit for others, which other processes may have
/// stored.
///
/// Changes of different records are independent.
package struct PendingChanges<Record: ArchivedRecord>: Sendable {
    package typealias Change = RecordChange<Record>

    private struct Entry: Sendable {
        let number: UInt64
        let record: Record
    }

    /// The limit for removals of records that are not known to exist, in number and in bytes of their identities.
    /// Exceeds the capacity of every store.
    private static var maximumUnconfirmed: Int { 20_000 }
    private static var maximumUnconfirmedBytes: Int { 20_000_000 }

    /// The identities that are known to exist in the destination; nil if unknown.
    package var known: Set<Record.Identity>?
    /// Whether all existing records are removed first.
    package private(set) var isEverythingRemoved = false
    /// Separate collections, because a removal is much smaller than a record.
    private var stored: [Record.Identity: Entry] = [:]
    private var removed: Set<Record.Identity> = []
    /// Removals of records that are not known to exist.
    private var unconfirmed: Set<Record.Identity> = []
    private var unconfirmedBytes = 0
    private var nextNumber: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { stored.isEmpty && removed.isEmpty && unconfirmed.isEmpty && !isEverythingRemoved }
    package var count: Int { stored.count + removed.count + unconfirmed.count + (isEverythingRemoved ? 1 : 0) }

    /// Removals of known records come first.
    package var removals: [Record.Identity] { Array(removed) + unconfirmed }

    /// The stored records, in order.
    package var records: [Record] { stored.values.sorted { $0.number < $1.number }.map(\.record) }

    /// The removals, then the stored records in order.
    package var list: [Change] {
        var changes: [Change] = isEverythingRemoved ? [.everythingRemoved] : []
        changes.reserveCapacity(count)
        for identity in removals { changes.append(.removed(identity)) }
        for record in records { changes.append(.stored(record)) }
        return changes
    }

    /// Whether the changes affect the record with that identity.
    package func affects(_ identity: Record.Identity) -> Bool {
        isEverythingRemoved || stored[identity] != nil || removed.contains(identity) || unconfirmed.contains(identity)
    }

    package mutating func add(_ change: Change) {
        switch change {
        case .stored(let record):
            let identity = record.identity
            removed.remove(identity)
            if unconfirmed.remove(identity) != nil { unconfirmedBytes -= size(of: identity) }
            stored[identity] = Entry(number: nextNumber, record: record)
            nextNumber += 1
        case .removed(let identity):
            stored[identity] = nil
            if !isEverythingRemoved { remove(identity) }
        case .everythingRemoved:
            forget()
            isEverythingRemoved = true
        }
    }

    package mutating func add(_ changes: some Sequence<Change>) { for change in changes { add(change) } }

    private mutating func remove(_ identity: Record.Identity) {
        if known?.contains(identity) == true {
            removed.insert(identity)
            return
        }
        let size = size(of: identity)
        guard unconfirmed.count < Self.maximumUnconfirmed, unconfirmedBytes + size <= Self.maximumUnconfirmedBytes
        else { return }
        if unconfirmed.insert(identity).inserted { unconfirmedBytes += size }
    }

    private func size(of identity: Record.Identity) -> Int { Record.values(of: identity).reduce(0) { $0 + $1.size } }

    /// Returns the changes for writing, and removes them here.
    package mutating func take() -> Self {
        var taken = self
        // Avoids a copy of the set.
        taken.known = nil
        markWritten()
        return taken
    }

    /// All changes were written, or will be.
    package mutating func markWritten() {
        if isEverythingRemoved { known = [] }
        known?.subtract(removed)
        known?.subtract(unconfirmed)
        known?.formUnion(stored.keys)
        forget()
    }

    /// The destination is empty, so removals are dropped.
    package mutating func dropRemovals() {
        let stored = stored
        forget()
        self.stored = stored
        known = []
    }

    private mutating func forget() {
        isEverythingRemoved = false
        stored = [:]
        removed = []
        unconfirmed = []
        unconfirmedBytes = 0
    }
}
