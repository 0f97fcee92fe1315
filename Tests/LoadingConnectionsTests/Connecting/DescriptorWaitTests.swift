import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingConnections

/// Waits for descriptors, while the process has none.
@Suite(.timeLimit(.minutes(1))) struct DescriptorWaitTests {
    // CONN-14: thousands of attempts that try again at once would keep the loop from everything else
    @Test("waits end in their order, a few at a time") func order() async throws {
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: 1, on: stepped.loop)
        let together = DescriptorQueue.batchSize
        let retry = stepped.limits.descriptorRetry
        let ended = EventRecorder<Int>()
        let waits = Waits()
        await connectionPool.onLoop { pool in
            for number in 0..<(together + 3) {
                waits.all.append(DescriptorWait(pool))
                waits.all[number].begin { ended.record(number) }
            }
            // The place of one that has ended is no other's.
            waits.all[1].end()
        }
        try await stepped.step(by: retry - 1)
        #expect(ended.events == [])
        try await stepped.step(by: 1)
        #expect(ended.events == [0] + Array(2...together))
        try await stepped.step(by: retry)
        #expect(ended.events == [0] + Array(2..<(together + 3)))
        #expect(await connectionPool.onLoop { $0.loop.armedTimerCount } == 0)
        await connectionPool.close()
    }

    // CONN-14, T-5
    @Test("a wait that begins again comes after the others, and leaves nothing when it ends") func again() async throws
    {
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: 1, on: stepped.loop)
        let retry = stepped.limits.descriptorRetry
        let ended = EventRecorder<String>()
        let waits = Waits()
        await connectionPool.onLoop { pool in
            waits.all = [DescriptorWait(pool), DescriptorWait(pool)]
            waits.all[0].begin {
                ended.record("a")
                waits.all[0].begin { ended.record("a again") }
            }
            waits.all[1].begin { ended.record("b") }
        }
        try await stepped.step(by: retry)
        #expect(ended.events == ["a", "b"])
        try await stepped.step(by: retry)
        #expect(ended.events == ["a", "b", "a again"])
        let counts = await connectionPool.onLoop { pool -> [Int] in
            waits.all[1].begin { ended.record("never") }
            let before = pool.loop.armedTimerCount
            waits.all[1].end()
            return [before, pool.loop.armedTimerCount]
        }
        #expect(counts == [1, 0])
        await connectionPool.close()
    }

    // CONN-14, T-5: it would keep its pool
    @Test("a wait that has ended behind the last one is forgotten") func forgotten() async throws {
        let stepped = try SteppedLoop()
        let connectionPool = PoolOnLoop(to: 1, on: stepped.loop)
        let together = DescriptorQueue.batchSize
        let ended = EventRecorder<Int>()
        let waits = Waits()
        await connectionPool.onLoop { pool in
            for number in 0...together {
                waits.all.append(DescriptorWait(pool))
                waits.all[number].begin { ended.record(number) }
            }
            waits.all[together].end()
            waits.last = waits.all[together]
        }
        try await stepped.step(by: stepped.limits.descriptorRetry)
        #expect(ended.events == Array(0..<together))
        let isForgotten = await connectionPool.onLoop { _ in
            waits.all = []
            return waits.last == nil
        }
        #expect(isForgotten)
        await connectionPool.close()
    }
}

private final class Waits: @unchecked Sendable {
    // Sendable because it is used on the pool's loop only.
    var all: [DescriptorWait] = []
    weak var last: DescriptorWait?
}
