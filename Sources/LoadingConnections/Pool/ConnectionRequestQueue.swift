/// Requests that wait for a connection: by priority, and first come, first served among equals (CONN-1).
///
/// Removing a request only sets a flag. The entries of removed requests are deleted when they outnumber the waiting
/// ones. A request whose priority changes is placed as if it had had the new priority from the beginning.
struct ConnectionRequestQueue {
    /// In the order in which they are served. None before `head` waits any more.
    private var entries: [ConnectionRequest] = []
    private var head = 0
    private(set) var count = 0
    private var arrivals: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    /// All waiting requests, in their order.
    var requests: [ConnectionRequest] { entries[head...].filter(\.isWaiting) }

    mutating func append(_ request: ConnectionRequest) {
        number(request)
        insert(request)
    }

    /// Numbers a request that is not in the queue but may be inserted later.
    mutating func number(_ request: ConnectionRequest) {
        arrivals &+= 1
        request.arrival = arrivals
    }

    /// Inserts a request that was numbered before, by its time of arrival.
    mutating func insert(_ request: ConnectionRequest) {
        request.isWaiting = true
        request.queuedPriority = request.priority
        count += 1
        entries.insert(request, at: index(of: request))
    }

    /// Gives a request another priority, whether it waits here or not.
    mutating func setPriority(_ priority: Float, of request: ConnectionRequest) {
        request.priority = priority
        guard request.isWaiting, request.queuedPriority != priority else { return }
        let index = index(of: request)
        guard index < entries.count, entries[index] === request else { return }
        entries.remove(at: index)
        count -= 1
        insert(request)
    }

    /// Where a request is, or belongs.
    private func index(of request: ConnectionRequest) -> Int {
        // Most requests have the same priority, and the last one belongs at the end.
        guard let last = entries.last, !last.isServed(before: request) else { return entries.count }
        var low = head
        var high = entries.count
        while low < high {
            let middle = low + (high - low) / 2
            if entries[middle].isServed(before: request) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The request that is served next.
    mutating func first() -> ConnectionRequest? {
        while head < entries.count {
            if entries[head].isWaiting { return entries[head] }
            head += 1
        }
        return nil
    }

    mutating func popFirst() -> ConnectionRequest? {
        guard let request = first() else { return nil }
        remove(request)
        return request
    }

    mutating func firstWithoutAttempt() -> ConnectionRequest? { first { $0.attempt == nil } }

    /// The first request that a released connection helps: it accepts the connection, or it needs room for a new one,
    /// which is not being made yet.
    mutating func firstForReleased() -> ConnectionRequest? {
        isEmpty ? nil : first { $0.acceptsReused || $0.attempt == nil }
    }

    private mutating func first(where matches: (ConnectionRequest) -> Bool) -> ConnectionRequest? {
        guard let first = first() else { return nil }
        return matches(first) ? first : entries[head...].first { $0.isWaiting && matches($0) }
    }

    mutating func remove(_ request: ConnectionRequest) {
        guard request.isWaiting else { return }
        request.isWaiting = false
        request.waitingOrigin = nil
        count -= 1
        if count == 0 {
            // The capacity is kept, so that a queue that repeatedly fills and empties does not allocate each time.
            entries.removeAll(keepingCapacity: entries.count <= 1024)
            head = 0
        } else if entries.count - count > count + 64 {
            entries.removeAll { !$0.isWaiting }
            head = 0
        }
    }
}

extension ConnectionRequest {
    fileprivate func isServed(before other: ConnectionRequest) -> Bool {
        if queuedPriority != other.queuedPriority { return queuedPriority > other.queuedPriority }
        return arrival < other.arrival
    }
}
