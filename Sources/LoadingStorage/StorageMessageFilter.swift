internal import LoadingEvents

/// Which messages of a process's stores are worth a line on standard error. Where there is no writable home, or no room on
/// the disk, that is so for every store, and may change with every load; it is said once.
package final class StorageMessageFilter: @unchecked Sendable {
    // Sendable because what varies is guarded by `lock`.

    static let shared = StorageMessageFilter()

    private let lock = Lock()
    private var inMemory: Set<StorageFailure.Remedy> = []
    private var hasSaidItLastsAgain = false
    private var others: Set<StorageMessage> = []
    /// A program that runs for years may have many damaged files.
    private static let mostOthers = 64

    package init() {}

    /// Whether to say a message, which counts as said then.
    package func take(_ message: StorageMessage) -> Bool {
        lock.withLock {
            switch message {
            // That of the first store stands for all that can be helped likewise.
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
