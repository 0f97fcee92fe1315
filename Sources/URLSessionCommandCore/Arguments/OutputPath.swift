import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Compares the names of files to write.
enum OutputPath {
    /// Symbolic links, as many as Linux follows.
    private static let mostLinks = 40

    /// Equal for two names of one file, also if it does not exist yet.
    static func identity(of path: String) -> String {
        var path = path
        for _ in 0..<mostLinks {
            var status = stat()
            if stat(path, &status) == 0 { return "\(status.st_dev):\(status.st_ino)" }
            // What a link leads to is created by a write.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            path = target.hasPrefix("/") ? target : folder(of: path) + target
        }
        guard let resolved = realpath(folder(of: path), nil) else {
            // A folder that is not there yet.
            return URL(fileURLWithPath: path).standardizedFileURL.path
        }
        defer { free(resolved) }
        let start = String(cString: resolved)
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
        return (start == "/" ? "" : start) + "/" + name
    }

    /// Up to the last slash.
    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    }
}
