/// What is to be in the place of a record, if that is still as it was read.
package struct RecordReplacement<Record: ArchivedRecord>: Sendable {
    package let old: Record
    /// With the same identity; nil if nothing is to be there.
    package let new: Record?

    package init(_ old: Record, new: Record?) {
        self.old = old
        self.new = new
    }

    /// The same, whatever is there.
    package var change: RecordChange<Record> { new.map { .stored($0) } ?? .removed(old.identity) }
}
