internal import CLoadingLinux
package import FoundationEssentials
internal import Glibc

/// A growable buffer for a body, which becomes `Data` without a copy.
///
/// Large buffers are mapped, so their memory returns to the system when the last reference goes. malloc would raise its
/// mmap threshold after the first free of such a buffer, and keep the memory.
package struct GrowableBuffer: ~Copyable {
    package private(set) var address: UnsafeMutableRawPointer?
    package private(set) var capacity = 0
    private var isMapped = false

    /// Smaller buffers use malloc, because reused pages are cheaper than new ones.
    private static let smallestMapped = 4 << 20
    /// Smaller results are copied, so that they do not hold a whole allocation.
    private static let largestCopied = 256

    package init() {}

    deinit { Self.free(address, capacity, isMapped) }

    /// Grows to at least that many bytes in total. Returns false, unchanged, if there is not enough memory.
    package mutating func grow(to count: Int) -> Bool {
        if count <= capacity { return true }
        guard count >= Self.smallestMapped else {
            guard let moved = realloc(address, count) else { return false }
            (address, capacity) = (moved, count)
            return true
        }
        guard let size = Self.wholePages(count) else { return false }
        if isMapped {
            guard let moved = cll_remap(address, capacity, size) else { return false }
            (address, capacity) = (moved, size)
            return true
        }
        guard let pages = cll_map(size) else { return false }
        if let address { memcpy(pages, address, capacity) }
        Glibc.free(address)
        (address, capacity, isMapped) = (pages, size, true)
        return true
    }

    /// Returns the first bytes, and leaves the buffer empty.
    package mutating func take(_ count: Int) -> Data {
        guard let address, count > 0, count <= capacity else { return Data() }
        let (old, isMapped) = (capacity, isMapped)
        (self.address, capacity, self.isMapped) = (nil, 0, false)
        if count <= Self.largestCopied {
            defer { Self.free(address, old, isMapped) }
            return Data(bytes: address, count: count)
        }
        if isMapped {
            let size = Self.wholePages(count) ?? old
            let kept = size < old ? cll_remap(address, old, size) : nil
            let length = kept == nil ? old : size
            return Data(
                bytesNoCopy: kept ?? address, count: count,
                deallocator: .custom({ pages, _ in munmap(pages, length) }))
        }
        let exact = old - count > 4096 ? realloc(address, count) ?? address : address
        return Data(bytesNoCopy: exact, count: count, deallocator: .free)
    }

    private static func free(_ address: UnsafeMutableRawPointer?, _ capacity: Int, _ isMapped: Bool) {
        guard let address else { return }
        if isMapped { munmap(address, capacity) } else { Glibc.free(address) }
    }

    private static let pageSize = max(4096, Int(sysconf(Int32(_SC_PAGESIZE))))

    private static func wholePages(_ count: Int) -> Int? {
        let (sum, isTooMuch) = count.addingReportingOverflow(pageSize - 1)
        return isTooMuch ? nil : sum / pageSize * pageSize
    }
}
