internal import Glibc
internal import LoadingEvents

/// The process's loops: made when first needed, at most one for each core, never ended.
package enum EventLoops {
    private static let all = Storage()

    /// The next loop in turn.
    package static func assign() -> EventLoop { all.assign() }

    private final class Storage: ForkGuarded, @unchecked Sendable {
        // Sendable because everything is guarded by `lock`.

        private let lock = ForkGuardedLock(.outer)
        private var loops: [EventLoop] = []
        private var next = 0

        init() { ForkGuards.shared.add(self) }

        func hold(until deadline: Int64) {
            guard lock.hold(until: deadline) else { return }
            for loop in loops { loop.holdAsleep(until: deadline) }
        }

        func release(inChild: Bool) -> [AnyObject] {
            lock.release {
                for loop in loops { loop.lock.release() }
            }
            return []
        }

        func assign() -> EventLoop {
            lock.lock()
            defer { lock.unlock() }
            if loops.count < Self.most, next >= loops.count { addLoop() }
            defer { next += 1 }
            return loops[next % loops.count]
        }

        /// Without free descriptors only if there is no other loop: then loads wait on this one.
        private func addLoop() {
            let loop = EventLoop()
            guard loop.hasDescriptors || loops.isEmpty else { return }
            loops.append(loop)
            ForkedProcess.watch()
            LoopWatch.shared.add(loop)
            // If no thread can be started now, each task that begins tries again.
            _ = loop.serve()
        }

        private static let most = max(1, min(8, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
    }
}
