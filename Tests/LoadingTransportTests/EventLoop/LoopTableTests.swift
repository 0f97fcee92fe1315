import Testing

@testable import LoadingTransport

/// The tables of a loop, in which thousands of connections leave no memory behind.
@Suite struct LoopTableTests {
    private final class Handler: ReadinessHandler {
        func becameReady(_ readiness: Readiness) {}
    }

    private final class Target: LoopTimerTarget {
        func timerFired(_ timer: LoopTimer) {}
    }

    @Test("a removed registration has no handler, and none of a later one with its index")
    func generations() {
        var table = RegistrationTable()
        let first = Handler()
        let second = Handler()
        let old = table.insert(first)
        #expect(table.handler(of: old) === first)
        #expect(table.remove(old) === first)
        #expect(table.handler(of: old) == nil)
        let new = table.insert(second)
        #expect(new.index == old.index)
        #expect(LoopRegistration(token: new.token) == new)
        #expect(table.remove(old) == nil)
        #expect(table.handler(of: new) === second)
        #expect(table.count == 1)
    }

    @Test("many removed registrations leave no memory behind, and events for them find no later ones")
    func manyRegistrations() {
        var table = RegistrationTable()
        let handler = Handler()
        let kept = table.insert(handler)
        let all = (0..<5000).map { _ in table.insert(handler) }
        for registration in all { #expect(table.remove(registration) === handler) }
        #expect(table.count == 1)
        #expect(table.capacity <= 1024)
        #expect(table.handler(of: kept) === handler)
        let later = (0..<5000).map { _ in table.insert(handler) }
        #expect(Set(later.map(\.index)) == Set(all.map(\.index)))
        #expect(all.allSatisfy { table.handler(of: $0) == nil })
        #expect(later.allSatisfy { table.handler(of: $0) === handler })
        #expect(table.count == 5001)
    }

    @Test("a registration at the end keeps its entry", arguments: [4999, 3000, 1300, 1000])
    func laterEntry(index: Int) {
        var table = RegistrationTable()
        let handler = Handler()
        let all = (0..<5000).map { _ in table.insert(handler) }
        for registration in all where registration.index != index { #expect(table.remove(registration) === handler) }
        #expect(table.count == 1)
        #expect(table.handler(of: all[index]) === handler)
        let later = (0..<5000).map { _ in table.insert(handler) }
        #expect(Set(later.map(\.index)).union([index]) == Set(0...5000))
        #expect(table.remove(all[index]) === handler)
        #expect(later.allSatisfy { table.remove($0) === handler })
        #expect(table.count == 0)
        #expect(table.capacity <= 1024)
    }

    @Test("an empty table for a few registrations keeps its memory")
    func smallTable() {
        var table = RegistrationTable()
        let all = (0..<100).map { _ in table.insert(Handler()) }
        for registration in all { _ = table.remove(registration) }
        #expect(table.capacity >= 100)
    }

    @Test("timers that are no longer armed give back their memory, and the others keep their order")
    func timers() {
        var heap = TimerHeap()
        let target = Target()
        let all = (0..<5000).map { _ in LoopTimer() }
        for (index, timer) in all.enumerated() {
            #expect(heap.arm(timer, at: Int64(index * 7919 % 5000), for: target) == nil)
        }
        #expect(heap.capacity >= 5000)
        for timer in all[100...] { #expect(heap.disarm(timer) === target) }
        #expect(heap.count == 100)
        #expect(heap.capacity <= 1024)
        var deadlines: [Int64] = []
        while let (timer, _) = heap.popDue(5000) { deadlines.append(timer.deadline) }
        #expect(deadlines == all[..<100].map(\.deadline).sorted())
    }
}
