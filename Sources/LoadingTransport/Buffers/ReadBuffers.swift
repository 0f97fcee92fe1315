internal import Glibc
internal import LoadingEvents

/// A pool of equally sized read buffers. Reuse keeps the memory in the CPU cache, and avoids that malloc returns pages
/// to the kernel between two reads.
///
/// Any thread may release a buffer, because the last reference to a piece of body does.
package enum ReadBuffers {
    package static let size = 128 * 1024
    /// The capacity of the pool. Further buffers are freed.
    private static let most = 8
    private static let free = Storage()

    /// A buffer of `size` bytes, or nil if there is not enough memory.
    package static func take() -> UnsafeMutableRawPointer? { free.pop() ?? malloc(size) }

    package static func release(_ buffer: UnsafeMutableRawPointer) {
        if !free.push(buffer) { Glibc.free(buffer) }
    }

    private final class Storage: ForkGuarded, @unchecked Sendable {
        // Sendable because everything is guarded by `lock`, which also separates accesses: exclusive access is not
        // checked.
        private let lock = ForkGuardedLock(.buffers)
        @exclusivity(unchecked) private var buffers: [UnsafeMutableRawPointer] = []

        init() { ForkGuards.shared.add(self) }

        func hold(until deadline: Int64) { lock.hold(until: deadline) }

        func release(inChild: Bool) -> [AnyObject] {
            lock.release()
            return []
        }

        func pop() -> UnsafeMutableRawPointer? {
            lock.lock()
            defer { lock.unlock() }
            return buffers.popLast()
        }

        func push(_ buffer: UnsafeMutableRawPointer) -> Bool {
            lock.lock()
            defer { lock.unlock() }
            guard buffers.count < ReadBuffers.most else { return false }
            buffers.append(buffer)
            return true
        }
    }
}
