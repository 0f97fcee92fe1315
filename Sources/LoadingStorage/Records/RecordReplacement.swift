/// A conditional change: replaces a record if it is unchanged since it was read.
package struct RecordReplacement<Record: ArchivedRecord>: Sendable {
    package let old: Record
    /// With the same identity; nil removes the record.
    package let new: Record?

    package init(_ old: Record, new: Record?) {
        self.old = old
        self.new = new
    }

    /// The unconditional change.
    package var change: RecordChange<Record> { new.map { .stored($0) } ?? .removed(old.identity) }
}
