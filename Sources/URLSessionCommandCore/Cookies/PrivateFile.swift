import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Files with secrets, which only the owner may read.
enum PrivateFile {
    /// Replaces the file in one step, so a reader sees the old contents or the new ones. Anything that is not a regular
    /// file, such as a pipe, is written directly.
    static func replace(_ path: String, with data: Data) throws(FileError) {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG { return try write(path, data) }
        // The target of a symbolic link is replaced, not the link.
        var target = path
        if let resolved = realpath(path, nil) {
            target = String(cString: resolved)
            free(resolved)
        }
        // In a shared folder others may create a link with a name that they can guess. One that exists is not opened.
        let new = target + ".\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
        let file: OutputDescriptor
        do throws(FileError) {
            file = try OutputDescriptor.create(path: new, isPrivate: true, isNew: true)
        } catch {
            throw FileError(path: path, code: error.code)
        }
        do throws(FileError) {
            try write(data, to: file)
            guard rename(new, target) == 0 else { throw FileError(path: path, code: errno) }
        } catch {
            unlink(new)
            throw FileError(path: path, code: error.code)
        }
    }

    private static func write(_ path: String, _ data: Data) throws(FileError) {
        try write(data, to: try OutputDescriptor.create(path: path, isPrivate: true))
    }

    private static func write(_ data: Data, to file: OutputDescriptor) throws(FileError) {
        do throws(FileError) {
            try file.write([UInt8](data))
        } catch {
            try? file.finish()
            throw error
        }
        try file.finish()
    }
}
