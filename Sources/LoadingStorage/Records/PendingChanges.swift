/// Changes that wait to be written: of each record the last one.
///
/// However many records come and go, no more removals wait than there are records that are known to be there, and so many
/// besides, of what others may have stored meanwhile.
///
/// Changes of different records do not depend on each other.
package struct PendingChanges<Record: ArchivedRecord>: Sendable {
    package typealias Change = RecordChange<Record>

    private struct Entry: Sendable {
        let number: UInt64
        let record: Record
    }

    /// Of what is not known to be there, no more removals than these are waited with, in number and in bytes of what tells
    /// them apart. All records of a full store are fewer.
    private static var mostDoubtful: Int { 20_000 }
    private static var mostDoubtfulBytes: Int { 20_000_000 }

    /// The identities that are known to be there, where the changes are written to; nil if that is not known.
    package var known: Set<Record.Identity>?
    /// Whether all that is there is to be removed first.
    package private(set) var isEverythingRemoved = false
    /// Apart from each other, since a removal is far smaller than a record.
    private var stored: [Record.Identity: Entry] = [:]
    private var removed: Set<Record.Identity> = []
    /// What is to be removed if it is there.
    private var doubtful: Set<Record.Identity> = []
    private var doubtfulBytes = 0
    private var nextNumber: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { stored.isEmpty && removed.isEmpty && doubtful.isEmpty && !isEverythingRemoved }
    package var count: Int { stored.count + removed.count + doubtful.count + (isEverythingRemoved ? 1 : 0) }

    /// What is known to be there comes first.
    package var removals: [Record.Identity] { Array(removed) + doubtful }

    /// What is to be there, in the order in which it came.
    package var records: [Record] { stored.values.sorted { $0.number < $1.number }.map(\.record) }

    /// The removals, and then what is stored in the order in which it came.
    package var list: [Change] {
        var changes: [Change] = isEverythingRemoved ? [.everythingRemoved] : []
        changes.reserveCapacity(count)
        for identity in removals { changes.append(.removed(identity)) }
        for record in records { changes.append(.stored(record)) }
        return changes
    }

    /// Whether it changes what is there of that identity.
    package func concerns(_ identity: Record.Identity) -> Bool {
        isEverythingRemoved || stored[identity] != nil || removed.contains(identity) || doubtful.contains(identity)
    }

    package mutating func add(_ change: Change) {
        switch change {
        case .stored(let record):
            let identity = record.identity
            removed.remove(identity)
            if doubtful.remove(identity) != nil { doubtfulBytes -= size(of: identity) }
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
        guard doubtful.count < Self.mostDoubtful, doubtfulBytes + size <= Self.mostDoubtfulBytes else { return }
        if doubtful.insert(identity).inserted { doubtfulBytes += size }
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
        known?.subtract(doubtful)
        known?.formUnion(stored.keys)
        forget()
    }

    /// Waits with no removals any more, since there is nothing.
    package mutating func forgetRemovals() {
        let stored = stored
        forget()
        self.stored = stored
        known = []
    }

    private mutating func forget() {
        isEverythingRemoved = false
        stored = [:]
        removed = []
        doubtful = []
        doubtfulBytes = 0
    }
}
