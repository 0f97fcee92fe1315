/// A queue without the cost of removing the first element of an array.
@usableFromInline
package struct FirstInFirstOut<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    /// How many elements' room is kept when the queue is empty.
    @usableFromInline static var keptCapacity: Int { 64 }
    /// How many taken elements may lie before the first one.
    @usableFromInline static var mostTaken: Int { 1024 }

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { head == elements.count }

    @inlinable
    package var count: Int { elements.count - head }

    @inlinable
    package mutating func append(_ element: Element) { elements.append(element) }

    @inlinable
    package mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        var first: Element?
        swap(&first, &elements[head])
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= Self.keptCapacity)
            head = 0
        } else if head >= Self.mostTaken {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    @inlinable
    package mutating func popFirst(where condition: (Element) -> Bool) -> Element? {
        guard head < elements.count, let first = elements[head], condition(first) else { return nil }
        return popFirst()
    }
}
