/// Persistent storage of records: a file or a keyring. Used by one thread at a time.
package protocol RecordStore<Record>: AnyObject {
    associatedtype Record: ArchivedRecord

    /// All records, updated by pending changes. Nil if they cannot be read.
    func loadIfPossible() -> [Record]?

    /// Whether the loaded records are complete. Otherwise a removal may concern a record that was not loaded.
    var isLoadedCompletely: Bool { get }

    /// Makes the changes persistent.
    ///
    /// - Returns: False if they wait in memory.
    @discardableResult func apply(_ changes: [RecordChange<Record>]) -> Bool

    /// Replaces records that are unchanged since they were read. Records that another process has replaced stay, as far
    /// as that can be determined.
    ///
    /// - Returns: False if it cannot be done. The replacements do not wait.
    @discardableResult func correct(_ corrections: [RecordReplacement<Record>]) -> Bool

    /// Retries pending changes. Returns true if none wait any more.
    @discardableResult func flush() -> Bool

    /// Whether records may have changed since they were read.
    func hasExternalChanges() -> Bool

    /// Whether records were lost without a removal, so that their users must store them again. Reports each loss once.
    func hasLostFile() -> Bool
}

extension RecordArchive: RecordStore {}
extension PersistentCredentialStore: RecordStore {}
