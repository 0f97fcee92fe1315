internal import LoadingEvents
internal import LoadingStorage
internal import Synchronization

/// Counts what the caches of this process have stored in a folder, so that each notices at once what another one has
/// stored there.
final class FolderChanges: Sendable {
    private let stored = Atomic(0)

    var count: Int { stored.load(ordering: .acquiring) }

    /// Called after the index was written.
    func note() { stored.add(1, ordering: .releasing) }

    private static let folders = Folders()

    /// The same object for all that use the folder at a time.
    static func of(_ directory: StorageDirectory) -> FolderChanges { folders.changes(of: directory) }

    private final class Folders: @unchecked Sendable {
        // Sendable: `lock` guards the mutable state.
        private let lock = Lock()
        /// The folders of caches, which are few.
        private var known: [Known] = []

        private struct Known {
            let directory: StorageDirectory
            weak var changes: FolderChanges?
        }

        func changes(of directory: StorageDirectory) -> FolderChanges {
            let new = FolderChanges()
            return lock.withLock {
                known.removeAll { $0.changes == nil }
                if let there = known.first(where: { $0.directory == directory })?.changes { return there }
                known.append(Known(directory: directory, changes: new))
                return new
            }
        }
    }
}
