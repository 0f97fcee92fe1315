import Glibc
import LoadingEvents
import TestSupport
import Testing

/// The order of locks that are held together: docs/threads.md. Debug builds stop where it is another.
@Suite struct LockTests {
    private struct Locks: ~Copyable {
        let outer = Lock(.outer)
        let middle = Lock(.middle)
        let inner = Lock()
        let other = Lock()
        let buffers = Lock(.buffers)
    }

    @Test("locks are taken from the outer to the inner, and each again") func order() {
        let locks = Locks()
        var count = 0
        for _ in 0..<2 {
            locks.outer.withLock {
                locks.middle.withLock { locks.inner.withLock { count += 1 } }
                locks.other.withLock { count += 1 }
            }
            locks.inner.withLock { locks.buffers.withLock { count += 1 } }
            locks.middle.withLock { locks.other.withLock { count += 1 } }
        }
        #expect(count == 8)
    }

    // Another thread holds it longer than a fork waits: that thread releases it.
    @Test("a fork releases only the lock that it holds") func fork() {
        let lock = ForkGuardedLock()
        var releases = 0
        lock.lock()
        lock.hold(until: 0)
        lock.release { releases += 1 }
        #expect(releases == 0)
        lock.withLock(until: 0) { Issue.record("It is held") }
        lock.unlock()
        lock.hold(until: .max)
        lock.withLock(until: 0) { Issue.record("The fork holds it") }
        lock.release { releases += 1 }
        lock.release { releases += 1 }
        #expect(releases == 1)
        lock.withLock(until: 0) { releases += 1 }
        #expect(releases == 2)
    }

    #if DEBUG && compiler(>=6.2)
        /// Whether the process was stopped for that reason.
        private static func says(_ reason: String, _ result: ExitTest.Result?) -> Bool {
            String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).contains(reason)
        }

        @Test("no lock is taken while an inner one is held") func innerFirst() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let locks = Locks()
                locks.inner.withLock { locks.middle.withLock {} }
            }
            #expect(Self.says("A lock of level middle is taken while", result))
        }

        @Test("no two locks of one level are held together") func sameLevel() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let locks = Locks()
                locks.inner.withLock { locks.other.withLock {} }
            }
            #expect(Self.says("A lock of level inner is taken while", result))
        }

        // It would wait for itself.
        @Test("no lock is taken twice") func twice() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                setenv("URLSESSION_CHECKS", "abort", 1)
                let locks = Locks()
                locks.outer.withLock { locks.outer.withLock {} }
            }
            #expect(Self.says("A lock of level outer is taken while", result))
        }
    #endif
}
