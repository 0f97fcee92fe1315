internal import Foundation
internal import LoadingEvents
internal import LoadingTransport

/// The folder for downloaded files: the temporary directory.
enum DownloadFolder {
    static var path: String {
        let path = NSTemporaryDirectory()
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Hands a complete file over to the program. The file is renamed, because old files with the name of an unfinished
    /// download are removed.
    static func handOver(_ file: URL) -> URL {
        UnfinishedFiles.shared.keep(file.path)
        let folder = file.deletingLastPathComponent()
        let other = folder.appendingPathComponent(file.lastPathComponent.replacing("_", with: "-", maxReplacements: 1))
        // Some file systems do not support hard links.
        guard other != file, link(file.path, other.path) == 0 else { return file }
        unlink(file.path)
        return other
    }

    /// Removes files left by killed processes, once per process. If no thread can be started, a later process does it.
    ///
    /// Not on a queue of Dispatch, which waits until there is a thread, and ends a process that has no descriptors.
    static func clean() { _ = isCleaning }

    private static let isCleaning: Bool = {
        let folder = path
        return DetachedThread.startIfPossible(named: "url-cleanup") {
            UnfinishedFiles.removeOld(in: folder, includesAbandoned: true)
        }
    }()
}
