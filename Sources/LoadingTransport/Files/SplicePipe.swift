internal import CLoadingLinux
internal import Glibc

/// A pipe between a socket and a file: the kernel moves pages through it, and the process never sees them.
package final class SplicePipe: Sendable {
    /// Where the socket's bytes go in.
    package let entrance: Int32
    /// Where they come out for the file.
    package let exit: Int32

    /// As much as a download has on its way to the disk. An unprivileged user's pipes may be smaller.
    package static let capacity: Int32 = 512 * 1024

    /// Nil when there are hardly any descriptors left: it can be done without.
    package init?() {
        var ends: (Int32, Int32) = (-1, -1)
        guard cll_pipe(&ends.0, &ends.1) == 0 else { return nil }
        guard !DescriptorReserve.contains(ends.0), !DescriptorReserve.contains(ends.1) else {
            close(ends.0)
            close(ends.1)
            return nil
        }
        entrance = ends.1
        exit = ends.0
        _ = cll_set_pipe_capacity(entrance, Self.capacity)
    }

    deinit {
        close(entrance)
        close(exit)
    }
}
