import Glibc
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// The watch with a socket of the test's in the place of the kernel's: each byte is a change.
@Suite struct RouteWatchTests {
    /// The kernel's end of the watch's socket.
    private final class Kernel: Sendable {
        private let ends = Watched<[Int32]>([])
        private let refusals: Watched<Int>

        /// Refuses so many sockets before it gives one.
        init(refusing count: Int = 0) { refusals = Watched(count) }

        deinit { for end in ends.current { close(end) } }

        func open() -> Int32 {
            let isRefused = refusals.withValue { count in
                defer { count = max(0, count - 1) }
                return count > 0
            }
            if isRefused { return -1 }
            var pair: [Int32] = [-1, -1]
            let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { return -1 }
            ends.withValue { $0.append(pair[1]) }
            return pair[0]
        }

        var openCount: Int { ends.current.count }

        func change() {
            if let end = ends.current.last { _ = send(end, "change", 6, Int32(MSG_NOSIGNAL)) }
        }

        func hangUp() {
            if let end = ends.current.last { shutdown(end, Int32(SHUT_RDWR)) }
        }
    }

    private let loop = EventLoops.assign()
    private let recorded = EventRecorder<String>()

    /// Waits since a mark that was taken before `meanwhile` happened.
    private func wait(
        _ name: String, for watch: RouteWatch, on loop: EventLoop? = nil,
        meanwhile: @escaping @Sendable () -> Void = {}
    ) async -> LoopBox<RouteWait> {
        let loop = loop ?? self.loop
        return await loop.run { [loop, recorded] in
            let mark = watch.mark(on: loop)
            meanwhile()
            return LoopBox(watch.wait(since: mark, on: loop) { recorded.record(name) })
        }
    }

    // CONN-14
    @Test("a change is reported once to each waiter, in their order")
    func aChangeIsReportedToEachWaiterOnceInOrder() async throws {
        let kernel = Kernel()
        let watch = RouteWatch(openSocket: { kernel.open() })
        for name in ["a", "b", "c"] { _ = await wait(name, for: watch) }
        #expect(watch.waitingCount == 3)
        kernel.change()
        #expect(try await recorded.waitFor(count: 3) == ["a", "b", "c"])
        #expect(watch.waitingCount == 0)
        _ = await wait("d", for: watch)
        kernel.change()
        #expect(try await recorded.waitFor(count: 4) == ["a", "b", "c", "d"])
        #expect(kernel.openCount == 1)
    }

    // CONN-14: a link, its addresses and their routes are one try for a load that waits again after each
    @Test("changes at almost the same time are reported together") func simultaneousChangesAreReportedTogether()
        async throws
    {
        let kernel = Kernel()
        let watch = RouteWatch(openSocket: { kernel.open() })
        let current = Watched<LoopBox<RouteWait>?>(nil)
        await loop.run { waitAgain(for: watch, current) }
        let changes = 40
        for _ in 0..<changes {
            kernel.change()
            // The loop reads it, and would report it, meanwhile.
            for _ in 0..<3 { await loop.run {} }
        }
        try await recorded.waitFor(count: 1)
        #expect(recorded.count < changes / 2)
        await loop.run { current.current?.value.end() }
    }

    /// On the loop.
    private func waitAgain(for watch: RouteWatch, _ current: Watched<LoopBox<RouteWait>?>) {
        let wait = watch.wait(since: watch.mark(on: loop), on: loop) {
            recorded.record("changed")
            waitAgain(for: watch, current)
        }
        current.withValue { $0 = LoopBox(wait) }
    }

    // CONN-14: a route that was added after the attempt had failed and before the load waited for one
    @Test("a change since the mark is not missed") func aChangeSinceTheMarkIsNotMissed() async throws {
        let kernel = Kernel()
        let watch = RouteWatch(openSocket: { kernel.open() })
        let mark = await loop.run { [loop] in watch.mark(on: loop) }
        _ = await wait("other", for: watch)
        kernel.change()
        // The watch has read it.
        try await recorded.waitFor(count: 1)
        _ = await loop.run { [loop, recorded] in
            LoopBox(watch.wait(since: mark, on: loop) { recorded.record("late") })
        }
        #expect(try await recorded.waitFor(count: 2) == ["other", "late"])
    }

    // CONN-14: the same, when the watch has not come to read it
    @Test("an unread change is not missed") func anUnreadChangeIsNotMissed() async throws {
        let kernel = Kernel()
        let watch = RouteWatch(openSocket: { kernel.open() })
        _ = await wait("a", for: watch) { kernel.change() }
        #expect(try await recorded.waitFor(count: 1) == ["a"])
    }

    // CONN-14: what changed before is not reported
    @Test("a change before the mark is not reported") func aChangeBeforeTheMarkIsNotReported() async throws {
        let kernel = Kernel()
        let watch = RouteWatch(openSocket: { kernel.open() })
        _ = await wait("first", for: watch)
        kernel.change()
        try await recorded.waitFor(count: 1)
        let later = await wait("later", for: watch)
        #expect(await loop.run { !watch.isNotifying })
        #expect(recorded.events == ["first"])
        #expect(watch.waitingCount == 1)
        await loop.run { later.value.end() }
        #expect(watch.waitingCount == 0)
    }

    // T-5: a load that is cancelled while it waits leaves nothing behind
    @Test("a wait that has ended is released") func anEndedWaitIsReleased() async throws {
        final class Kept: Sendable {}
        let kernel = Kernel()
        let watch = RouteWatch(openSocket: { kernel.open() })
        weak var kept: Kept?
        let ended: LoopBox<RouteWait>
        do {
            let held = Kept()
            kept = held
            ended = await loop.run { [loop] in
                LoopBox(
                    watch.wait(since: watch.mark(on: loop), on: loop) { withExtendedLifetime(held) {} })
            }
        }
        _ = await wait("other", for: watch)
        #expect(watch.waitingCount == 2)
        await loop.run {
            ended.value.end()
            ended.value.end()
        }
        #expect(watch.waitingCount == 1)
        await loop.run {}
        #expect(kept == nil)
        kernel.change()
        #expect(try await recorded.waitFor(count: 1) == ["other"])
    }

    // CONN-14: without a socket there is another try after a second, and a socket is asked for each time
    @Test("a kernel that gives no socket at first") func aKernelThatGivesNoSocketAtFirst() async throws {
        let kernel = Kernel(refusing: 2)
        let watch = RouteWatch(openSocket: { kernel.open() })
        let stepped = try SteppedLoop()
        _ = await wait("a", for: watch, on: stepped.loop)
        try await stepped.step(by: TimeLimits.seconds(1) - 1)
        #expect(recorded.events == [])
        try await stepped.step(by: 1)
        #expect(recorded.events == ["a"])
        #expect(kernel.openCount == 0)
        _ = await wait("b", for: watch, on: stepped.loop)
        #expect(kernel.openCount == 1)
        kernel.change()
        // It is notified when the others of the same event have had their time.
        try await stepped.step(by: TimeLimits.milliseconds(50) - 1)
        #expect(recorded.events == ["a"])
        try await stepped.step(by: 1)
        #expect(recorded.events == ["a", "b"])
    }

    // CONN-14: changes before there was a socket are unknown
    @Test("a socket that comes between the mark and the wait") func aSocketThatComesBetweenTheMarkAndTheWait()
        async throws
    {
        let kernel = Kernel(refusing: 1)
        let watch = RouteWatch(openSocket: { kernel.open() })
        let start = ContinuousClock.now
        _ = await wait("a", for: watch)
        #expect(try await recorded.waitFor(count: 1) == ["a"])
        #expect(ContinuousClock.now - start < .milliseconds(900))
    }

    // CONN-14
    @Test("a socket that breaks is replaced") func aSocketThatBreaksIsReplaced() async throws {
        let kernel = Kernel()
        let watch = RouteWatch(openSocket: { kernel.open() })
        _ = await wait("a", for: watch)
        kernel.hangUp()
        // It may have changed, so each waiter tries again.
        #expect(try await recorded.waitFor(count: 1) == ["a"])
        _ = await wait("b", for: watch)
        #expect(kernel.openCount == 2)
        kernel.change()
        #expect(try await recorded.waitFor(count: 2) == ["a", "b"])
    }

    // CONN-14: what the kernel itself says
    @Test("an interface of this machine comes up", .inNetworkNamespace, .needsNetworkNamespace)
    func anInterfaceOfThisMachineComesUp() async throws {
        let mark = await loop.run { [loop] in RouteWatch.shared.mark(on: loop) }
        _ = await wait("up", for: .shared)
        try NetworkNamespace.raiseLoopback()
        #expect(try await recorded.waitFor(count: 1) == ["up"])
        // It happened before the wait, and after the last check.
        _ = await loop.run { [loop, recorded] in
            LoopBox(RouteWatch.shared.wait(since: mark, on: loop) { recorded.record("late") })
        }
        #expect(try await recorded.waitFor(count: 2) == ["up", "late"])
    }
}
