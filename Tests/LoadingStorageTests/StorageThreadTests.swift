import Foundation
import LoadingStorage
import TestSupport
import Testing

@Suite(.leakChecked) struct StorageThreadTests {
    private final class Store {
        var items: [Int] = []
        let ended: Signal?

        init(ended: Signal? = nil) { self.ended = ended }
        deinit { ended?.fire() }
    }

    private static var threads: Int {
        ProcessResources.current.threads.filter { $0.name == "test-store" }.count
    }

    @Test("work runs in the order of submission") func order() {
        let thread = StorageThread(named: "test-store") { Store() }
        for item in 0..<1000 { thread.perform { $0.items.append(item) } }
        #expect(thread.wait { $0.items } == Array(0..<1000))
    }

    @Test("completed work is released while other work is queued") func done() throws {
        final class Body: Sendable {}
        struct Weak: @unchecked Sendable {
            // Sendable: weak references are read and cleared atomically.
            weak var body: Body?
        }
        let thread = StorageThread(named: "test-store") { Store() }
        let hold = Signal("held up")
        thread.perform { _ in try? hold.wait() }
        let weak = {
            let body = Body()
            thread.perform { _ in withExtendedLifetime(body) {} }
            return Weak(body: body)
        }()
        let isGone = EventRecorder<Bool>()
        thread.perform { _ in isGone.record(weak.body == nil) }
        hold.fire()
        thread.wait { _ in }
        #expect(isGone.events == [true])
    }

    @Test("no work is lost when many threads submit") func manyThreads() {
        let thread = StorageThread(named: "test-store") { Store() }
        DispatchQueue.concurrentPerform(iterations: 8) { part in
            for item in 0..<200 { thread.perform { $0.items.append(part * 1000 + item) } }
            #expect(thread.wait { $0.items.filter { $0 / 1000 == part } } == (0..<200).map { part * 1000 + $0 })
        }
        #expect(thread.wait { $0.items.count } == 1600)
    }

    @Test("the thread runs from the first work until the store is released") func life() async throws {
        let made = Signal("the store is made")
        let ended = Signal("the store is gone")
        var thread: StorageThread<Store>? = StorageThread(named: "test-store") {
            made.fire()
            return Store(ended: ended)
        }
        #expect(Self.threads == 0)
        #expect(!made.isFired)
        thread?.perform { $0.items.append(1) }
        try await made.wait()
        #expect(Self.threads == 1)
        #expect(!ended.isFired)
        thread = nil
        try await ended.wait()
        try await eventually { Self.threads == 0 }
    }

    @Test("queued work is done before the store is released") func lastWork() throws {
        let ended = Signal("the store is gone")
        let hold = Signal("held up")
        let done = EventRecorder<Int>()
        var thread: StorageThread<Store>? = StorageThread(named: "test-store") { Store(ended: ended) }
        thread?.perform { _ in try? hold.wait() }
        for item in 0..<10 { thread?.perform { _ in done.record(item) } }
        thread = nil
        hold.fire()
        try ended.wait()
        #expect(done.events == Array(0..<10))
    }

    // S-88
    @Test("a flush completes after all work submitted before it") func flush() throws {
        let thread = StorageThread(named: "test-store") { Store() }
        let hold = Signal("held up")
        let steps = EventRecorder<String>()
        thread.perform { _ in
            try? hold.wait()
            steps.record("work")
        }
        thread.flush { steps.record("flushed") }
        #expect(steps.events == [])
        hold.fire()
        #expect(try steps.waitFor(count: 2) == ["work", "flushed"])
    }

    @Test("waiting within the store's own work does not deadlock") func waitWithin() {
        let thread = StorageThread(named: "test-store") { Store() }
        let inner = thread.wait { store in
            store.items.append(1)
            return thread.wait { $0.items }
        }
        #expect(inner == [1])
    }

    @Test("no thread is started without work") func notNeeded() {
        _ = StorageThread(named: "test-store") { () -> Store in
            Issue.record("it was not requested")
            return Store()
        }
        #expect(Self.threads == 0)
    }
}
