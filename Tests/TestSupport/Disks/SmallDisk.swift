internal import Foundation
internal import Glibc

/// A small file system in memory. Requires root.
///
///     @Test("…", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted")) …
///     let disk = try SmallDisk(size: 1_000_000)
package final class SmallDisk: Sendable {
    private let directory: TemporaryDirectory

    /// The mount point.
    package var path: String { directory.path }

    /// - Parameter size: In bytes; the kernel rounds up to whole pages.
    package init(size: Int) throws {
        directory = try TemporaryDirectory()
        guard mount("none", directory.path, "tmpfs", 0, "size=\(size),mode=0700") == 0 else {
            throw POSIXFailure("mount")
        }
    }

    deinit {
        // Unmounted before its directory is removed. Open files stay until they are closed.
        umount2(directory.path, Int32(MNT_DETACH))
    }

    /// Remounts the file system read-only or writable. Read-only applies to root too.
    package func setReadOnly(_ isReadOnly: Bool) throws {
        let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
        guard mount("none", directory.path, "tmpfs", flags, nil) == 0 else { throw POSIXFailure("mount") }
    }

    /// Fills it to its last byte.
    package func fill() throws {
        guard FileManager.default.createFile(atPath: filler, contents: nil) else { throw POSIXFailure("open") }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: filler))
        defer { try? file.close() }
        for size in [4096, 1] { while (try? file.write(contentsOf: Data(count: size))) != nil {} }
    }

    /// Removes what `fill` has written.
    package func empty() throws { try FileManager.default.removeItem(atPath: filler) }

    private var filler: String { directory.path + "/filler" }

    package static let isAvailable: Bool = (try? SmallDisk(size: 4096)) != nil

    /// The names of the files on it.
    package func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
}
