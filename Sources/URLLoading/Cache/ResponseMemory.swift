internal import Foundation
internal import LoadingSemantics

/// Responses in memory by key, with LRU eviction. A value type: its owner has the lock, and releases evicted responses
/// after it.
struct ResponseMemory {
    /// A response and its neighbours in order of use, as indexes of `slots`.
    private struct Slot {
        var key: String
        var response: CachedURLResponse
        var size: Int
        var stored: Date
        var older: Int?
        var newer: Int?
    }

    /// Unused slots are nil and listed in `free`.
    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var places: [String: Int] = [:]
    private var newest: Int?
    private var oldest: Int?
    /// Evicted responses that the owner has not taken. Their deinit may run the program's code.
    private var departed: [CachedURLResponse] = []

    /// The total size in bytes.
    private(set) var size = 0

    /// The capacity in bytes. Lowering it evicts excess responses at once.
    var capacity: Int {
        didSet { trim() }
    }

    var isEmpty: Bool { places.isEmpty }

    init(capacity: Int) { self.capacity = max(0, capacity) }

    /// The response of a key, which becomes the most recently used.
    mutating func response(for key: String) -> CachedURLResponse? {
        guard let place = places[key], let slot = slots[place] else { return nil }
        if place != newest {
            unlink(place)
            link(place)
        }
        return slot.response
    }

    /// Stores a response, which replaces the one with that key. If it exceeds the capacity, only the old one is
    /// removed.
    ///
    /// - Parameter cost: Its size; see `size(of:key:)`.
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

    /// Takes the responses evicted since the last call.
    mutating func takeDeparted() -> [CachedURLResponse] {
        if departed.isEmpty { return [] }
        defer { departed = [] }
        return departed
    }

    /// Removes responses stored at or after that time.
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

    /// The size of body and header fields, plus an estimate for objects.
    static func size(of response: CachedURLResponse, key: String) -> Int {
        let fields = (response.response as? HTTPURLResponse)?.headerFields.bytes.count ?? 0
        return response.data.count + fields + key.utf8.count + 512
    }
}
