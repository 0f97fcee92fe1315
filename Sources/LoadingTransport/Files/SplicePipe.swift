internal import CLoadingLinux
internal import Glibc

/// A pipe between a socket and a file. The kernel moves pages through it without copying them to the process.
package final class SplicePipe: Sendable {
    /// The write end, for the socket.
    package let writeEnd: Int32
    /// The read end, for the file.
    package let readEnd: Int32

    /// The capacity: as much as a download has in flight to the disk. The kernel may limit it for unprivileged users.
    package static let capacity: Int32 = 512 * 1024

    /// Returns nil if few descriptors are left, because splicing is optional.
    package init?() {
        var ends: (Int32, Int32) = (-1, -1)
        guard cll_pipe(&ends.0, &ends.1) == 0 else { return nil }
        guard !DescriptorReserve.contains(ends.0), !DescriptorReserve.contains(ends.1) else {
            close(ends.0)
            close(ends.1)
            return nil
        }
        writeEnd = ends.1
        readEnd = ends.0
        _ = cll_set_pipe_capacity(writeEnd, Self.capacity)
    }

    deinit {
        close(writeEnd)
        close(readEnd)
    }
}
