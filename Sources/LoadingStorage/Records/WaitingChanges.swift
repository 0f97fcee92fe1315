/// Changes that wait to be written: of each record the last one. What is not there needs no removal, so that however many
/// records come and go, no more changes wait than there are records, now or when was written last.
///
/// Changes of different records do not depend on each other.
package struct WaitingChanges<Record: ArchivedRecord>: Sendable {
    package typealias Change = RecordChange<Record>

    private struct Entry: Sendable {
        let number: UInt64
        let record: Record
    }

    /// While it is not known what is there, more removals than these are not waited with, in number and in bytes of what
    /// tells them apart. All records of a full store are fewer.
    private static var mostRemovals: Int { 20_000 }
    private static var mostRemovedBytes: Int { 20_000_000 }

    /// The identities that there may be records of where the changes are written to; nil if that is not known.
    package var known: Set<Record.Identity>?
    /// Whether all that is there is to be removed first.
    package private(set) var isEverythingRemoved = false
    /// Apart from each other, since a removal is far smaller than a record.
    private var stored: [Record.Identity: Entry] = [:]
    package private(set) var removed: Set<Record.Identity> = []
    private var removedBytes = 0
    private var nextNumber: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { stored.isEmpty && removed.isEmpty && !isEverythingRemoved }
    package var count: Int { stored.count + removed.count + (isEverythingRemoved ? 1 : 0) }

    /// What is to be there, in the order in which it came.
    package var records: [Record] { stored.values.sorted { $0.number < $1.number }.map(\.record) }

    /// The removals, and then what is stored in the order in which it came.
    package var list: [Change] {
        var changes: [Change] = isEverythingRemoved ? [.everythingRemoved] : []
        changes.reserveCapacity(count)
        for identity in removed { changes.append(.removed(identity)) }
        for record in records { changes.append(.stored(record)) }
        return changes
    }

    /// Whether it changes what is there of that identity.
    package func concerns(_ identity: Record.Identity) -> Bool {
        isEverythingRemoved || stored[identity] != nil || removed.contains(identity)
    }

    package mutating func add(_ change: Change) {
        switch change {
        case .stored(let record):
            let identity = record.identity
            if removed.remove(identity) != nil { removedBytes -= size(of: identity) }
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
        let size = size(of: identity)
        if let known {
            guard known.contains(identity) else { return }
        } else if removed.count == Self.mostRemovals || removedBytes + size > Self.mostRemovedBytes {
            return
        }
        if removed.insert(identity).inserted { removedBytes += size }
    }

    private func size(of identity: Record.Identity) -> Int { Record.values(of: identity).reduce(0) { $0 + $1.size } }

    /// The changes, for whoever writes them; none of them waits here any more.
    package mutating func take() -> Self {
        var taken = self
        // Otherwise it would be copied.
        taken.known = nil
        settle()
        return taken
    }

    /// Waits with nothing, since all is written, or will be.
    package mutating func settle() {
        if isEverythingRemoved { known = [] }
        known?.subtract(removed)
        known?.formUnion(stored.keys)
        forget()
    }

    /// Waits with nothing, since there is nothing to write to.
    package mutating func reset() {
        forget()
        known = []
    }

    private mutating func forget() {
        isEverythingRemoved = false
        stored = [:]
        removed = []
        removedBytes = 0
    }
}
