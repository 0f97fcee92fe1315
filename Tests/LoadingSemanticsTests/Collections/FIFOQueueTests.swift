import LoadingSemantics
import Testing

@Suite struct FIFOQueueTests {
    // The order, and the count, while more elements are added than are removed, and afterwards.
    @Test(arguments: [1, 2, 300, 5_000]) func order(size: Int) {
        var queue = FIFOQueue<Int>()
        var next = 0
        for number in 0..<size {
            queue.append(2 * number)
            queue.append(2 * number + 1)
            #expect(queue.popFirst() == next)
            next += 1
            #expect(queue.count == number + 1)
        }
        while let first = queue.popFirst() {
            #expect(first == next)
            next += 1
        }
        #expect(next == 2 * size && queue.isEmpty && queue.popFirst() == nil)
        queue.append(-1)
        #expect(queue.popFirst() == -1)
    }

    @Test func conditionIsAboutTheFirst() {
        var queue = FIFOQueue<Int>()
        for number in [3, 1] { queue.append(number) }
        #expect(queue.popFirst { $0 < 2 } == nil)
        #expect(queue.popFirst { $0 > 2 } == 3)
        #expect(queue.popFirst { $0 < 2 } == 1)
        #expect(queue.popFirst { _ in true } == nil)
    }

    // The first element stays the first, wherever it lies: also alone, and when removed ones before it are given up.
    @Test(arguments: [1, 2, 3, 700]) func elementThatIsNotWanted(size: Int) {
        var queue = FIFOQueue<Int>()
        for number in 0..<size { queue.append(number) }
        for number in 0..<size {
            #expect(queue.popFirst { $0 != number } == nil)
            #expect(queue.count == size - number)
            #expect(queue.popFirst { $0 == number } == number)
        }
        #expect(queue.isEmpty)
    }

    @Test(arguments: [0, 1, 700]) func prependAndPopAll(removed: Int) {
        var queue = FIFOQueue<Int>()
        for number in 0..<1_000 { queue.append(number) }
        for _ in 0..<removed { _ = queue.popFirst() }
        queue.prepend([-2, -1])
        #expect(queue.popFirst() == -2)
        #expect(queue.popAll() == [-1] + Array(removed..<1_000))
        #expect(queue.isEmpty && queue.popAll().isEmpty)
    }

    @Test(arguments: [0, 1, 700]) func copiesStayInTheQueue(removed: Int) {
        var queue = FIFOQueue<Int>()
        for number in 0..<1_000 { queue.append(number) }
        for _ in 0..<removed { _ = queue.popFirst() }
        #expect(queue.copies(1..<3) == [removed + 1, removed + 2])
        #expect(queue.copies(0..<0).isEmpty)
        #expect(queue.all == Array(removed..<1_000) && queue.count == 1_000 - removed)
    }

    // A removed element is released by its receiver, not by the queue.
    @Test func elementsAreNotKept() {
        final class Element {}
        var queue = FIFOQueue<Element>()
        weak var first: Element?
        do {
            let element = Element()
            first = element
            queue.append(element)
            queue.append(Element())
        }
        #expect(first != nil)
        _ = queue.popFirst()
        #expect(first == nil && queue.count == 1)
    }
}
