import Foundation
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The folder `FILE.download` beside a download's target, until it is whole: the file that the session writes the body
/// to, and the record of how to go on with it. One process at a time has it.
///
/// Whatever moment the process is killed at, what lies here goes together: a file's name never comes to stand for
/// other contents than those its record speaks of, and each record is put in place of the one before as a whole.
///
/// Used by one thread at a time, that of `run` before the load and after it, the delegate's meanwhile.
final class UnfinishedDownload: Sendable {
    let target: String
    let folder: String
    private let descriptor: Int32

    private var recordPath: String { folder + "/record" }

    /// The hard link to what has come, while a server's answer may still take it away.
    private static let sparePrefix = "spare."

    private init(target: String, folder: String, descriptor: Int32) {
        self.target = target
        self.folder = folder
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Makes the folder if it is missing, and has it for this process alone.
    static func claim(for target: String) throws(TransferFailure) -> UnfinishedDownload {
        let folder = target + ".download"
        // Another process may remove the folder between the opening and the locking.
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
                throw TransferFailure(.writeError, "'\(shown(folder))' belongs to somebody else")
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

    /// What an earlier process has left, if it can be gone on with.
    func readRecord() -> DownloadRecord? {
        guard let data = FileManager.default.contents(atPath: recordPath), let record = DownloadRecord(data) else {
            return nil
        }
        if record.whole != nil { return record }
        guard let resumeData = record.resumeData,
            let name = URLSessionDownloadTask.fileName(inResumeData: resumeData)
        else { return nil }
        returnSpare(name)
        guard access(folder + "/" + name, F_OK) == 0 else { return nil }
        removeAll(but: name)
        return record
    }

    /// A record that cannot be written is no reason to end a load that goes well.
    func write(_ record: DownloadRecord) {
        guard let data = record.encoded else { return }
        let new = recordPath + ".new"
        do throws(WriteError) {
            let file = try OutputDescriptor.create(path: new)
            try file.write(Array(data))
            try file.finish()
        } catch {
            return
        }
        rename(new, recordPath)
        if record.resumeData.flatMap(URLSessionDownloadTask.fileName(inResumeData:)) != nil { dropSpare() }
    }

    /// How much lies there of what a record speaks of.
    func received(_ record: DownloadRecord) -> Int64 {
        guard let name = record.resumeData.flatMap(URLSessionDownloadTask.fileName(inResumeData:)) else { return 0 }
        return identity(of: folder + "/" + name)?.size ?? 0
    }

    // MARK: What a server may take away

    /// Keeps what has come under a second name: an answer that brings another body removes the first.
    func keepSpare(_ record: DownloadRecord) {
        guard let name = record.resumeData.flatMap(URLSessionDownloadTask.fileName(inResumeData:)) else { return }
        link(folder + "/" + name, folder + "/" + Self.sparePrefix + name)
    }

    /// The answer was of no use: what was there before it is what has come.
    func returnSpare(_ name: String) {
        let spare = folder + "/" + Self.sparePrefix + name
        if access(folder + "/" + name, F_OK) == 0 { unlink(spare) } else { rename(spare, folder + "/" + name) }
    }

    private func dropSpare() {
        for name in names() where name.hasPrefix(Self.sparePrefix) { unlink(folder + "/" + name) }
    }

    // MARK: The end

    /// Whether an earlier process put this download in its place and then had no time to clean up.
    func isDelivered(_ record: DownloadRecord) -> Bool { record.whole != nil && record.whole == identity(of: target) }

    /// Puts the file in its place, with the permissions of a file that was made there.
    func deliver(_ path: String, of url: String) throws(TransferFailure) {
        chmod(path, permissions())
        guard let whole = identity(of: path) else { throw Self.cannotWrite(path) }
        write(DownloadRecord(url: url, resumeData: nil, validator: nil, whole: whole))
        guard rename(path, target) == 0 else { throw Self.cannotWrite(target) }
    }

    /// The file that an earlier process had all of, but had no time to put in its place.
    func wholeFile(_ record: DownloadRecord) -> String? {
        names().map { folder + "/" + $0 }.first { record.whole != nil && identity(of: $0) == record.whole }
    }

    /// Removes the folder with all that is in it.
    func remove() {
        removeAll(but: nil)
        unlink(recordPath)
        rmdir(folder)
    }

    /// Begins anew.
    func clear() {
        unlink(recordPath)
        removeAll(but: nil)
    }

    private func removeAll(but kept: String?) {
        for name in names() where name != kept { unlink(folder + "/" + name) }
    }

    /// Of this program's files, but for the record. Whatever else lies there is somebody else's.
    private func names() -> [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return all.filter { name in
            ["", Self.sparePrefix].contains { name.hasPrefix($0 + "CFNetworkDownload_") }
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
        // The mask of the process can be had from what it makes, without changing it for other threads.
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
