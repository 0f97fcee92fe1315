import Foundation
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The folder `FILE.download` beside the target of an incomplete download. It contains the file to which the session
/// writes the body, and the record to resume from. One process at a time locks it.
///
/// Invariant: the contents are consistent whenever the process is killed. A file name always stands for the contents
/// that its record describes, and records are replaced atomically.
///
/// Used by one thread at a time: the thread of `run` before and after the load, the delegate queue during
/// it.
final class UnfinishedDownload: Sendable {
    let target: String
    let folder: String
    private let descriptor: Int32

    private var recordPath: String { folder + "/record" }

    /// Prefix of the hard link that preserves the partial data until the server's response confirms that it resumes.
    private static let backupPrefix = "spare."

    private init(target: String, folder: String, descriptor: Int32) {
        self.target = target
        self.folder = folder
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Creates the folder if necessary, and locks it for this process.
    static func claim(for target: String) throws(TransferFailure) -> UnfinishedDownload {
        let folder = target + ".download"
        // Another process may remove the folder between `open` and `flock`.
        for _ in 0..<100 {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw cannotWrite(folder) }
            let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else {
                if errno == ENOENT { continue }
                throw cannotWrite(folder)
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                throw TransferFailure(.writeError, "'\(shown(target))' is being downloaded by another process")
            }
            var held = stat()
            var named = stat()
            guard fstat(descriptor, &held) == 0, lstat(folder, &named) == 0, held.st_ino == named.st_ino else {
                close(descriptor)
                continue
            }
            guard held.st_uid == geteuid() else {
                close(descriptor)
                throw TransferFailure(.writeError, "'\(shown(folder))' belongs to another user")
            }
            return UnfinishedDownload(target: target, folder: folder, descriptor: descriptor)
        }
        throw cannotWrite(folder)
    }

    private static func cannotWrite(_ path: String) -> TransferFailure {
        TransferFailure(.writeError, "cannot write '\(shown(path))': \(String(cString: strerror(errno)).lowercased())")
    }

    private static func shown(_ path: String) -> String { TextSanitizer.clean(path) }

    // MARK: The record

    /// The record of an earlier process, if the download can be resumed.
    func readRecord() -> DownloadRecord? {
        guard let data = FileManager.default.contents(atPath: recordPath), let record = DownloadRecord(data) else {
            return nil
        }
        if record.whole != nil { return record }
        guard let resumeData = record.resumeData,
            let name = URLSessionDownloadTask.fileName(inResumeData: resumeData)
        else { return nil }
        restoreBackup(name)
        guard access(folder + "/" + name, F_OK) == 0 else { return nil }
        removeAll(but: name)
        return record
    }

    /// Failures are ignored: a record that cannot be written must not end a successful load.
    func write(_ record: DownloadRecord) {
        guard let data = record.encoded else { return }
        let new = recordPath + ".new"
        do throws(FileError) {
            let file = try OutputDescriptor.create(path: new)
            try file.write(Array(data))
            try file.finish()
        } catch {
            return
        }
        rename(new, recordPath)
        if record.resumeData.flatMap(URLSessionDownloadTask.fileName(inResumeData:)) != nil { removeBackup() }
    }

    /// The number of bytes of partial data.
    func received(_ record: DownloadRecord) -> Int64 {
        guard let name = record.resumeData.flatMap(URLSessionDownloadTask.fileName(inResumeData:)) else { return 0 }
        return identity(of: folder + "/" + name)?.size ?? 0
    }

    // MARK: Backup of the partial data

    /// Links the partial data under a second name, because a response with a new body removes the file.
    func backUp(_ record: DownloadRecord) {
        guard let name = record.resumeData.flatMap(URLSessionDownloadTask.fileName(inResumeData:)) else { return }
        link(folder + "/" + name, folder + "/" + Self.backupPrefix + name)
    }

    /// Restores the partial data after a response that could not be used.
    func restoreBackup(_ name: String) {
        let spare = folder + "/" + Self.backupPrefix + name
        if access(folder + "/" + name, F_OK) == 0 { unlink(spare) } else { rename(spare, folder + "/" + name) }
    }

    private func removeBackup() {
        for name in names() where name.hasPrefix(Self.backupPrefix) { unlink(folder + "/" + name) }
    }

    // MARK: The end

    /// Whether an earlier process moved the file into place but did not remove the folder.
    func isInstalled(_ record: DownloadRecord) -> Bool { record.whole != nil && record.whole == identity(of: target) }

    /// Moves the file into place, with the permissions of a newly created file.
    func install(_ path: String, of url: String) throws(TransferFailure) {
        chmod(path, permissions())
        guard let whole = identity(of: path) else { throw Self.cannotWrite(path) }
        write(DownloadRecord(url: url, resumeData: nil, validator: nil, whole: whole))
        guard rename(path, target) == 0 else { throw Self.cannotWrite(target) }
    }

    /// The complete file that an earlier process did not move into place.
    func completeFile(_ record: DownloadRecord) -> String? {
        names().map { folder + "/" + $0 }.first { record.whole != nil && identity(of: $0) == record.whole }
    }

    /// Removes the folder and its contents.
    func remove() {
        removeAll(but: nil)
        unlink(recordPath)
        rmdir(folder)
    }

    /// Removes record and partial data, to start over.
    func clear() {
        unlink(recordPath)
        removeAll(but: nil)
    }

    private func removeAll(but kept: String?) {
        for name in names() where name != kept { unlink(folder + "/" + name) }
    }

    /// The files of this program, except the record. Other files are not touched.
    private func names() -> [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return all.filter { name in
            ["", Self.backupPrefix].contains { name.hasPrefix($0 + "CFNetworkDownload_") }
                || ["record.new", "probe"].contains(name)
        }
    }

    private func identity(of path: String) -> FileIdentity? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size))
    }

    private func permissions() -> mode_t {
        var status = stat()
        if stat(target, &status) == 0 { return status.st_mode & 0o777 }
        // The umask is read from a newly created file. `umask()` would change it for other threads.
        let probe = folder + "/probe"
        let made = open(probe, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard made >= 0 else { return 0o600 }
        defer {
            close(made)
            unlink(probe)
        }
        return fstat(made, &status) == 0 ? status.st_mode & 0o777 : 0o600
    }
}
