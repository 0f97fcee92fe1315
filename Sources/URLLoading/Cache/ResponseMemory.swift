internal import Foundation
internal import LoadingSemantics

/// Responses in memory by key; when there is no room, the one used least recently leaves first. A value: its owner
/// keeps the lock, and lets go of what has left after it.
struct ResponseMemory {
    /// One response and its neighbours in the order of use, as places in `slots`.
    private struct Slot {
        var key: String
        var response: CachedURLResponse
        var size: Int
        var stored: Date
        var older: Int?
        var newer: Int?
    }

    /// Nil where nothing is kept; those places are in `free`.
    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var places: [String: Int] = [:]
    private var newest: Int?
    private var oldest: Int?
    /// What has left, until the owner takes it: its end is other people's code.
    private var departed: [CachedURLResponse] = []

    /// The bytes of all that is kept.
    private(set) var size = 0

    /// How many bytes may be kept. Lowering it drops what no longer fits, at once.
    var capacity: Int {
        didSet { trim() }
    }

    init(capacity: Int) { self.capacity = max(0, capacity) }

    /// The response of that key, which is now the one used last.
    mutating func response(for key: String) -> CachedURLResponse? {
        guard let place = places[key], let slot = slots[place] else { return nil }
        if place != newest {
            unlink(place)
            link(place)
        }
        return slot.response
    }

    /// Keeps a response in place of another of that key. One larger than the capacity only removes the other.
    ///
    /// - Parameter cost: What it counts for: see `size(of:key:)`.
    mutating func store(_ response: CachedURLResponse, for key: String, size cost: Int, at time: Date) {
        remove(key)
        guard cost <= capacity else { return }
        let slot = Slot(key: key, response: response, size: cost, stored: time)
        let place: Int
        if let reused = free.popLast() {
            place = reused
            slots[place] = slot
        } else {
            place = slots.count
            slots.append(slot)
        }
        places[key] = place
        size += cost
        link(place)
        trim()
    }

    mutating func remove(_ key: String) {
        guard let place = places.removeValue(forKey: key), let slot = slots[place] else { return }
        unlink(place)
        slots[place] = nil
        free.append(place)
        size -= slot.size
        departed.append(slot.response)
    }

    mutating func removeAll() {
        let all = departed + slots.compactMap { $0?.response }
        self = ResponseMemory(capacity: capacity)
        departed = all
    }

    /// What has left since this was asked last.
    mutating func takeDeparted() -> [CachedURLResponse] {
        if departed.isEmpty { return [] }
        defer { departed = [] }
        return departed
    }

    /// Drops what was stored at or after that time.
    mutating func removeAll(since time: Date) {
        for slot in slots.compactMap({ $0 }) where slot.stored >= time { remove(slot.key) }
    }

    private mutating func trim() {
        while size > capacity, let oldest, let slot = slots[oldest] { remove(slot.key) }
    }

    private mutating func link(_ place: Int) {
        slots[place]?.older = newest
        slots[place]?.newer = nil
        if let newest { slots[newest]?.newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int) {
        guard let slot = slots[place] else { return }
        if let older = slot.older { slots[older]?.newer = slot.newer } else { oldest = slot.newer }
        if let newer = slot.newer { slots[newer]?.older = slot.older } else { newest = slot.older }
    }

    /// The body, the header fields, and about what the objects around them take.
    static func size(of response: CachedURLResponse, key: String) -> Int {
        let fields = (response.response as? HTTPURLResponse)?.headerFields.bytes.count ?? 0
        return response.data.count + fields + key.utf8.count + 512
    }
}
