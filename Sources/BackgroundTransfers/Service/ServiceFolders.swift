internal import CLoadingLinux
internal import Glibc
internal import LoadingStorage

/// The folders of the service's files.
package struct ServiceFolders: Equatable, Sendable {
    /// Of responses: parts and complete files.
    package var files: String
    /// Of the private copies of uploads.
    package var uploads: String
    /// Of the commands of programs.
    package var spool: String

    package init(files: String, uploads: String, spool: String) {
        self.files = files
        self.uploads = uploads
        self.spool = spool
    }

    /// The spool of a session object that owns the session, or has owned it last.
    func spool(of session: SessionRecord) -> String {
        let (attachment, owner) = (session.attachment ?? 0, session.description.owner)
        return "\(spoolPrefix(of: session))+\(String(attachment, radix: 16))+\(String(owner, radix: 16))"
    }

    /// What the paths of all spools of the session begin with, up to the first "+".
    private func spoolPrefix(of session: SessionRecord) -> String {
        // Names of up to 200 characters each, which do not contain "+".
        let application = StorageDirectory.fileName(session.application)
        return "\(spool)/\(application)/\(StorageDirectory.fileName(session.description.identifier))"
    }

    /// The spools of the owners of the sessions that the journal knows, and of those that were attached after them, in
    /// this order: a full disk may have kept them out of the journal. Called on the thread of the files.
    func spools(of sessions: [SessionRecord]) -> [SessionReference: [SessionSpool]] {
        for session in sessions { renameEarlierSpool(of: session) }
        var found: [String: [SessionSpool]] = [:]
        for (prefix, spool) in allSpools() { found[prefix, default: []].append(spool) }
        var spools: [SessionReference: [SessionSpool]] = [:]
        for session in sessions {
            let (own, last) = (spool(of: session), session.attachment ?? 0)
            var all = (found[spoolPrefix(of: session)] ?? []).filter { $0.path == own || $0.attachment > last }
            for index in all.indices { all[index].entries = CommandSpool.entries(at: all[index].path) }
            // Two have the same number if a full disk kept the first one out of the journal and of the folder.
            all.sort { ($0.attachment, $0.firstNumber) < ($1.attachment, $1.firstNumber) }
            spools[session.reference] = all
        }
        return spools
    }

    /// All that are there, with their common prefix.
    private func allSpools() -> [(prefix: String, spool: SessionSpool)] {
        var all: [(prefix: String, spool: SessionSpool)] = []
        for application in FileKeeper.names(in: spool) {
            let folder = "\(spool)/\(application)"
            for name in FileKeeper.names(in: folder) {
                let parts = name.split(separator: "+")
                guard parts.count == 3, let attachment = UInt64(parts[1], radix: 16),
                    let owner = UInt64(parts[2], radix: 16)
                else { continue }
                let spool = SessionSpool(attachment: attachment, owner: owner, path: "\(folder)/\(name)")
                all.append(("\(folder)/\(parts[0])", spool))
            }
        }
        return all
    }

    /// The session objects of programs that have not ended. Called on the thread of the files.
    func livingOwners() -> Set<UInt64> {
        Set(allSpools().filter { CommandSpool.isInUse(at: $0.spool.path) }.map(\.spool.owner))
    }

    /// Names of earlier versions have the owner only. Its program may have the file open, and go on with it.
    private func renameEarlierSpool(of session: SessionRecord) {
        let path = spool(of: session)
        guard FileKeeper.length(of: path) == nil else { return }
        rename("\(spoolPrefix(of: session))+\(String(session.description.owner, radix: 16))", path)
    }

    /// Whether the service may delete the path: a file right in one of its folders.
    func owns(_ path: String) -> Bool {
        [files, uploads].contains { path.hasPrefix($0 + "/") && !path.dropFirst($0.count + 1).contains("/") }
    }

    /// Removes what killed processes have left, and the spools of session objects that have lost their session to
    /// others. Called while nothing is loaded, on the thread of the files.
    ///
    /// - Parameters:
    ///   - spools: Those of the sessions, as `spools(of:)` has found them.
    ///   - living: What `livingOwners` was before the spools were read. The files of these may be needed by commands
    ///     that are not in `spools`.
    func removeOrphans(
        of contents: JournalContents, _ spools: [SessionReference: [SessionSpool]], living: Set<UInt64>
    ) {
        let all = spools.values.joined()
        let knownFiles = contents.files.union(all.flatMap { $0.entries.flatMap(\.command.files) })
        // A program that a killed service had attached may make its spool at any time.
        let knownSpools = Set(all.map(\.path)).union(contents.sessions.map { spool(of: $0) })
        FileKeeper.clean(files, keeping: knownFiles)
        let copies = FileKeeper.names(in: uploads)
        // A program that was just attached has its spool before its first file.
        let owners = living.union(livingOwners())
        FileKeeper.remove(
            copies.filter { UploadFolder.owner(of: $0).map { !owners.contains($0) } ?? true }, in: uploads,
            keeping: knownFiles)
        for application in FileKeeper.names(in: spool) {
            FileKeeper.clean(spool + "/" + application, keeping: knownSpools)
        }
    }

    /// Removes the files for tasks that a session object has not created before it has ended. Called on the thread of
    /// the files.
    ///
    /// - Parameter known: The files to which the transfers of the session refer.
    func removeOrphans(of owner: UInt64, keeping known: Set<String>) {
        let copies = FileKeeper.names(in: uploads).filter { UploadFolder.owner(of: $0) == owner }
        FileKeeper.remove(copies, in: uploads, keeping: known)
    }
}

/// The commands of a session object that was attached to a session.
struct SessionSpool: Sendable {
    let attachment: UInt64
    let owner: UInt64
    let path: String
    var entries: [CommandSpool.Entry] = []

    /// The number of the first command. An empty spool is that of the last owner.
    var firstNumber: UInt64 { entries.first?.number ?? .max }
}

/// What the service does with files, on a thread of its own, because the disk may be slow.
final class FileKeeper: Sendable {
    private let thread: StorageThread<Void>

    /// - Parameter name: Of the thread.
    init(named name: String) { thread = StorageThread(named: name) {} }

    /// Writes the file and its name to disk. `done` gets its length.
    func synchronize(_ path: String, _ done: @escaping @Sendable (Result<Int64, StorageFailure>) -> Void) {
        thread.perform { _ in
            done(Result { () throws(StorageFailure) in try SynchronizedFile.synchronizeWithName(path) })
        }
    }

    func remove(_ path: String) { thread.perform { _ in unlink(path) } }

    func run(_ work: @escaping @Sendable () -> Void) { thread.perform { _ in work() } }

    /// Nil if it is no file.
    static func length(of path: String) -> Int64? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// Removes the files of a folder that nothing refers to.
    static func clean(_ folder: String, keeping known: Set<String>) {
        remove(names(in: folder), in: folder, keeping: known)
    }

    static func remove(_ names: [String], in folder: String, keeping known: Set<String>) {
        for path in names.map({ folder + "/" + $0 }) where !known.contains(path) && length(of: path) != nil {
            unlink(path)
        }
    }

    /// What is in a folder, in no order. Empty if it cannot be read.
    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
