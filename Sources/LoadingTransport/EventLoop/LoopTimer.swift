/// A deadline on a loop. Confined to its loop.
///
/// While it is armed, the loop retains the target, so the code that arms a timer must disarm it at the end. Exclusive
/// access is not checked: the properties are only assigned and read.
package final class LoopTimer {
    /// When it is due; may be later than its key in the heap.
    @exclusivity(unchecked) package fileprivate(set) var deadline: Int64 = .max
    /// The key and the index in the heap; the index is -1 if the timer is not armed.
    @exclusivity(unchecked) fileprivate(set) var filedDeadline: Int64 = .max
    @exclusivity(unchecked) fileprivate(set) var heapIndex = -1
    @exclusivity(unchecked) fileprivate var target: (any LoopTimerTarget)?

    package init() {}

    package var isArmed: Bool { heapIndex >= 0 }
}

/// The armed timers of a loop, earliest first: a binary heap in which each timer stores its index. So the timer of a
/// load that ends long before its deadline is removed at once.
struct TimerHeap {
    private var heap: [LoopTimer] = []

    var count: Int { heap.count }
    var capacity: Int { heap.capacity }

    var nextDeadline: Int64 { heap.first?.filedDeadline ?? .max }

    /// Returns the target so far, for the caller to release: its deinitialiser may use the heap.
    mutating func arm(
        _ timer: LoopTimer, at deadline: Int64, for target: any LoopTimerTarget
    ) -> (any LoopTimerTarget)? {
        let before = timer.target
        timer.deadline = deadline
        timer.target = target
        if timer.heapIndex < 0 {
            timer.filedDeadline = deadline
            timer.heapIndex = heap.count
            heap.append(timer)
            siftUp(from: timer.heapIndex)
        } else if deadline < timer.filedDeadline {
            timer.filedDeadline = deadline
            siftUp(from: timer.heapIndex)
        }
        return before
    }

    /// Returns the target, for the caller to release: its deinitialiser may use the heap.
    mutating func disarm(_ timer: LoopTimer) -> (any LoopTimerTarget)? {
        let target = timer.target.take()
        let index = timer.heapIndex
        guard index >= 0 else { return target }
        timer.heapIndex = -1
        let last = heap.removeLast()
        if heap.capacity > EventLoop.keptCapacity, heap.count < heap.capacity / 4 { shrink() }
        guard last !== timer else { return target }
        heap[index] = last
        last.heapIndex = index
        siftDown(from: index)
        siftUp(from: last.heapIndex)
        return target
    }

    /// Removes the first timer that is due at `now`, and returns it with its target. Moves timers that were postponed.
    mutating func popDue(_ now: Int64) -> (LoopTimer, any LoopTimerTarget)? {
        while let first = heap.first, first.filedDeadline <= now {
            if first.deadline > now {
                first.filedDeadline = first.deadline
                siftDown(from: 0)
            } else {
                if let target = disarm(first) { return (first, target) }
            }
        }
        return nil
    }

    private mutating func shrink() {
        var smaller: [LoopTimer] = []
        smaller.reserveCapacity(heap.count * 2)
        smaller += heap
        heap = smaller
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        let timer = heap[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard timer.filedDeadline < heap[parent].filedDeadline else { break }
            heap[index] = heap[parent]
            heap[index].heapIndex = index
            index = parent
        }
        heap[index] = timer
        timer.heapIndex = index
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        let timer = heap[index]
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].filedDeadline < heap[child].filedDeadline { child += 1 }
            guard heap[child].filedDeadline < timer.filedDeadline else { break }
            heap[index] = heap[child]
            heap[index].heapIndex = index
            index = child
        }
        heap[index] = timer
        timer.heapIndex = index
    }
}

/// Called on the loop when a timer's deadline has come. The timer is no longer armed then.
package protocol LoopTimerTarget: AnyObject {
    func timerFired(_ timer: LoopTimer)
}
