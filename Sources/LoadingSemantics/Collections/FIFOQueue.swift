/// A queue, first in, first out. Removing the first element takes constant time on average.
///
/// Usable from inlined code, as otherwise other modules would call it without specialisation: that alone was a seventh
/// of the instructions of a small request.
@usableFromInline
package struct FIFOQueue<Element> {
    /// Removed elements are nil.
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    /// How many elements an empty queue keeps memory for, and how many removed ones may lie before the first.
    @usableFromInline static var kept: Int { 256 }

    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool { head == elements.count }
    @inlinable package var count: Int { elements.count - head }

    /// The first element, as a copy.
    package var first: Element? { isEmpty ? nil : elements[head] }

    @inlinable
    package mutating func append(_ element: Element) { elements.append(element) }

    /// Puts elements before the first one.
    package mutating func prepend(_ new: [Element]) {
        elements.replaceSubrange(..<head, with: new.map(Optional.some))
        head = 0
    }

    /// Removes the first element, and does not release it. An empty queue costs no call.
    @inlinable
    @inline(__always)
    package mutating func popFirst() -> Element? { isEmpty ? nil : takeFirst() }

    /// Of a queue that has one.
    @inlinable
    mutating func takeFirst() -> Element? {
        var first: Element?
        swap(&first, &elements[head])
        head += 1
        if elements.count == 1, elements.capacity <= Self.kept {
            // Most queues have one element. To remove all, which replaces a range, takes longer.
            elements.removeLast()
            head = 0
        } else if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= Self.kept)
            head = 0
        } else if head >= Self.kept, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    @inlinable
    package mutating func popFirst(where condition: (Element) -> Bool) -> Element? {
        // Taken out first: to look at it would copy it, and retain all that it has.
        guard let first = popFirst() else { return nil }
        if condition(first) { return first }
        prepend(first)
        return nil
    }

    /// Puts an element before the first one.
    @inlinable
    mutating func prepend(_ first: Element) {
        if head > 0 {
            head -= 1
            elements[head] = first
        } else {
            elements.insert(first, at: 0)
        }
    }

    /// Copies of the elements at those places, counted from the first one. They must exist.
    @inlinable
    package func copies(_ places: Range<Int>) -> [Element] {
        elements[(head + places.lowerBound)..<(head + places.upperBound)].compactMap { $0 }
    }

    /// Copies of all elements.
    @inlinable package var all: [Element] { copies(0..<count) }

    /// Removes all elements and returns them.
    package mutating func popAll() -> [Element] {
        defer { self = FIFOQueue() }
        return elements[head...].compactMap { $0 }
    }
}

extension FIFOQueue: Sendable where Element: Sendable {}
