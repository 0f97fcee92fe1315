internal import Dispatch
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

    /// Removes files left by killed processes, once per process.
    static func clean() { _ = isCleaned }

    private static let isCleaned: Bool = {
        let folder = path
        DispatchQueue.global(qos: .utility).async { UnfinishedFiles.removeOld(in: folder, includesAbandoned: true) }
        return true
    }()
}
