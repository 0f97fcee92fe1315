internal import LoadingEvents

/// Selects the storage messages that are written to standard error. A missing home directory or a full disk affects all
/// stores and may change with every load, so it is reported once per process.
package final class StorageMessageFilter: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `lock`.

    static let shared = StorageMessageFilter()

    private let lock = Lock()
    private var inMemory: Set<StorageFailure.Remedy> = []
    private var hasSaidItLastsAgain = false
    private var others: Set<StorageMessage> = []
    /// Bounds the set, for processes with many damaged files.
    private static let mostOthers = 64

    package init() {}

    /// Whether to report a message. It counts as reported from then on.
    package func take(_ message: StorageMessage) -> Bool {
        lock.withLock {
            switch message {
            // One report covers all stores that have the same remedy.
            case .inMemory(let failure): return inMemory.insert(failure.remedy).inserted
            case .writableAgain:
                guard inMemory.contains(.tryAgain), !hasSaidItLastsAgain else { return false }
                hasSaidItLastsAgain = true
                return true
            case .repaired, .responseDamaged, .keyringUnavailable, .keyringAvailable:
                guard others.count < Self.mostOthers else { return false }
                return others.insert(message).inserted
            }
        }
    }
}
