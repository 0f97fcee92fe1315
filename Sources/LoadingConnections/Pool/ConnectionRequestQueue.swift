/// Requests that wait for a connection: by priority, and first come, first served among equals (CONN-1).
///
/// Removing a request only sets a flag. Its entry is deleted when it reaches the front or when removed requests
/// outnumber the waiting ones. A request whose priority changes is placed as if it had had the new priority from the
/// beginning.
struct ConnectionRequestQueue {
    private struct Rank {
        let priority: Float
        var requests: [ConnectionRequest] = []
        var head = 0

        /// The index of request number `arrival`: a rank is sorted by arrival.
        func index(of arrival: UInt64) -> Int {
            var low = head
            var high = requests.count
            while low < high {
                let middle = low + (high - low) / 2
                if requests[middle].arrival < arrival { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// Highest priority first. Usually there is only one rank.
    private var ranks: [Rank] = []
    private(set) var count = 0
    private var removedCount = 0
    private var arrivals: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ request: ConnectionRequest) {
        number(request)
        request.isWaiting = true
        count += 1
        let index = rank(of: request.priority)
        ranks[index].requests.append(request)
    }

    /// Numbers a request that is not in the queue but may be inserted later.
    mutating func number(_ request: ConnectionRequest) {
        arrivals &+= 1
        request.arrival = arrivals
    }

    /// Inserts a request that was numbered before, by its time of arrival.
    mutating func insert(_ request: ConnectionRequest) {
        request.isWaiting = true
        count += 1
        let index = rank(of: request.priority)
        ranks[index].requests.insert(request, at: ranks[index].index(of: request.arrival))
    }

    /// Gives a request another priority, whether it waits here or not.
    mutating func setPriority(_ priority: Float, of request: ConnectionRequest) {
        let before = request.priority
        request.priority = priority
        guard request.isWaiting, before != priority else { return }
        if let index = ranks.firstIndex(where: { $0.priority == before }) {
            let position = ranks[index].index(of: request.arrival)
            guard position < ranks[index].requests.count, ranks[index].requests[position] === request else { return }
            ranks[index].requests.remove(at: position)
            if ranks[index].head == ranks[index].requests.count { ranks.remove(at: index) }
        }
        let index = rank(of: priority)
        ranks[index].requests.insert(request, at: ranks[index].index(of: request.arrival))
    }

    /// The index of a priority's rank, which is created if necessary.
    private mutating func rank(of priority: Float) -> Int {
        let index = ranks.firstIndex { $0.priority <= priority } ?? ranks.count
        if index == ranks.count || ranks[index].priority != priority {
            ranks.insert(Rank(priority: priority), at: index)
        }
        return index
    }

    mutating func popFirst() -> ConnectionRequest? {
        guard let request = first() else { return nil }
        ranks[0].head += 1
        compact(in: 0)
        request.isWaiting = false
        count -= 1
        return request
    }

    /// The request that is served next. Forgets the ranks before its own, whose requests were all served or removed:
    /// there may be as many ranks as there are numbers.
    mutating func first() -> ConnectionRequest? {
        while !ranks.isEmpty {
            skipRemoved(in: 0)
            if ranks[0].head < ranks[0].requests.count { return ranks[0].requests[ranks[0].head] }
            if ranks.count == 1 {
                // Kept, so that a queue that repeatedly fills and empties does not allocate each time.
                ranks[0].requests.removeAll(keepingCapacity: ranks[0].requests.count <= 1024)
                ranks[0].head = 0
                return nil
            }
            ranks.removeFirst()
        }
        return nil
    }

    mutating func firstWithoutAttempt() -> ConnectionRequest? { first { $0.attempt == nil } }

    /// The first request that a released connection helps: it accepts the connection, or it needs room for a new one,
    /// which is not being made yet.
    mutating func firstForReleased() -> ConnectionRequest? {
        // An empty queue forgets the entries of its former requests.
        isEmpty ? popFirst() : first { $0.acceptsReused || $0.attempt == nil }
    }

    /// Removes a request that is served, usually the first.
    mutating func pop(_ request: ConnectionRequest) {
        if first() === request { _ = popFirst() } else { remove(request) }
    }

    private mutating func first(where matches: (ConnectionRequest) -> Bool) -> ConnectionRequest? {
        for rank in ranks.indices {
            skipRemoved(in: rank)
            for index in ranks[rank].head..<ranks[rank].requests.count
            where ranks[rank].requests[index].isWaiting && matches(ranks[rank].requests[index]) {
                return ranks[rank].requests[index]
            }
        }
        return nil
    }

    /// All waiting requests, in their order.
    var requests: [ConnectionRequest] {
        ranks.flatMap { $0.requests[$0.head...].filter(\.isWaiting) }
    }

    /// Skips removed requests at the front, each of them only once.
    private mutating func skipRemoved(in rank: Int) {
        while ranks[rank].head < ranks[rank].requests.count, !ranks[rank].requests[ranks[rank].head].isWaiting {
            ranks[rank].head += 1
            removedCount -= 1
        }
        compact(in: rank)
    }

    private mutating func compact(in rank: Int) {
        guard ranks[rank].head > 1024, ranks[rank].head * 2 > ranks[rank].requests.count else { return }
        ranks[rank].requests.removeFirst(ranks[rank].head)
        ranks[rank].head = 0
    }

    mutating func remove(_ request: ConnectionRequest) {
        guard request.isWaiting else { return }
        request.isWaiting = false
        count -= 1
        removedCount += 1
        if removedCount > 64, removedCount > count { sweep() }
    }

    private mutating func sweep() {
        for index in ranks.indices {
            ranks[index].requests = ranks[index].requests[ranks[index].head...].filter(\.isWaiting)
            ranks[index].head = 0
        }
        ranks.removeAll { $0.requests.isEmpty }
        removedCount = 0
    }
}
