/// Times at which sessions and transfers want to be called, earliest first. A time that is no longer wanted stays until
/// it is reached.
struct WakeUps<Target: Hashable> {
    private struct Entry {
        let time: Double
        let target: Target
    }

    private var heap: [Entry] = []

    /// Seconds since 1970.
    var next: Double? { heap.first?.time }
    var count: Int { heap.count }

    mutating func add(_ time: Double, _ target: Target) {
        heap.append(Entry(time: time, target: target))
        var index = heap.count - 1
        while index > 0, heap[index].time < heap[(index - 1) / 2].time {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// The targets of all times up to `now`.
    mutating func takeDue(_ now: Double) -> [Target] {
        var due: [Target] = []
        while let first = heap.first, first.time <= now {
            due.append(first.target)
            let last = heap.removeLast()
            if heap.isEmpty { break }
            heap[0] = last
            sink()
        }
        return due
    }

    /// Removes the times that are not wanted any more.
    mutating func filter(_ isWanted: (Double, Target) -> Bool) {
        heap = heap.filter { isWanted($0.time, $0.target) }.sorted { $0.time < $1.time }
    }

    private mutating func sink() {
        var index = 0
        while true {
            let left = 2 * index + 1
            if left >= heap.count { return }
            let child = left + 1 < heap.count && heap[left + 1].time < heap[left].time ? left + 1 : left
            if heap[index].time <= heap[child].time { return }
            heap.swapAt(index, child)
            index = child
        }
    }
}
