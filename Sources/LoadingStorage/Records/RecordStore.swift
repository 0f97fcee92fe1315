/// Keeps the records of a store where they last: in a file, or with somebody else. Used by one thread at a time.
package protocol RecordStore<Record>: AnyObject {
    associatedtype Record: ArchivedRecord

    /// What is kept, with the changes that wait; nil if that cannot be told now.
    func loadIfPossible() -> [Record]?

    /// Whether what was loaded is all that is kept. If not, something may be removed that was not loaded.
    var isLoadedWhole: Bool { get }

    /// Makes the changes last.
    ///
    /// - Returns: False if they wait in memory.
    @discardableResult func apply(_ changes: [RecordChange<Record>]) -> Bool

    /// Corrects what was read, where it is still so: what another process has put in the place of a record stays, as far as
    /// that can be told.
    ///
    /// - Returns: False if that cannot be done now. It does not wait.
    @discardableResult func correct(_ corrections: [RecordReplacement<Record>]) -> Bool

    /// Tries again what waits. True if nothing waits any more.
    @discardableResult func flush() -> Bool

    /// Whether there may be something that was not there when it was read.
    func hasExternalChanges() -> Bool

    /// Whether what was kept is gone, by no change of a record: who has it yet has to store it anew. Told once.
    func hasLostFile() -> Bool
}

extension RecordArchive: RecordStore {}
extension PersistentCredentialStore: RecordStore {}
