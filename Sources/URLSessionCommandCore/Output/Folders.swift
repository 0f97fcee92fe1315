#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Creates folders.
enum Folders {
    /// Creates the folders of a file that are missing.
    ///
    /// - Parameter mode: The permissions of new folders.
    static func create(forFile path: String, mode: mode_t = 0o750) throws(FileError) {
        guard let end = path.lastIndex(of: "/"), end > path.startIndex else { return }
        var made = ""
        for part in path[..<end].split(separator: "/", omittingEmptySubsequences: false) {
            made += part
            defer { made += "/" }
            if part.isEmpty { continue }
            guard mkdir(made, mode) == 0 || errno == EEXIST || isFolder(made) else {
                throw FileError(path: made, code: errno)
            }
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        let code = errno
        var status = stat()
        let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        errno = code
        return isFolder
    }
}
