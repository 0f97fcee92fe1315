internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import LoadingTransport

/// Where downloads are written.
enum DownloadFolder {
    static var path: String {
        let path = NSTemporaryDirectory()
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Gives a whole file to the program, under a name that is no unfinished download's: those are removed when they are
    /// old.
    static func handOver(_ file: URL) -> URL {
        UnfinishedFiles.shared.keep(file.path)
        let folder = file.deletingLastPathComponent()
        let other = folder.appendingPathComponent(file.lastPathComponent.replacing("_", with: "-", maxReplacements: 1))
        // Not every file system has second names.
        guard other != file, link(file.path, other.path) == 0 else { return file }
        unlink(file.path)
        return other
    }

    /// Has what killed processes have left removed, once in a process.
    static func clean() { _ = isCleaned }

    private static let isCleaned: Bool = {
        let folder = path
        DispatchQueue.global(qos: .utility).async { UnfinishedFiles.removeOld(in: folder) }
        return true
    }()
}
