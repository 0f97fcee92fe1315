package import Foundation
internal import Glibc

/// A temporary directory, removed with its contents when the last reference is released.
package final class TemporaryDirectory: Sendable {
    package let url: URL

    package var path: String { url.path }

    package init() throws {
        var template = Array((NSTemporaryDirectory() + "url-loading-test.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXFailure("mkdtemp") }
        let path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        url = URL(fileURLWithPath: path, isDirectory: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// The URL of a file with this name.
    package func file(_ name: String) -> URL {
        url.appendingPathComponent(name)
    }

    @discardableResult
    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> URL {
        let file = file(name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        // Whatever the umask is: a download is not resumed in a file that a group may write to.
        guard chmod(file.path, 0o644) == 0 else { throw POSIXFailure("chmod") }
        return file
    }

    @discardableResult
    package func write(_ text: String, to name: String) throws -> URL {
        try write(text.utf8, to: name)
    }
}
