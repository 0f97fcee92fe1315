/// The bytes of bodies that were reported and not consumed, on all streams of a connection.
struct UnreadContent {
    private(set) var count = 0
    /// Those of closed streams.
    private var closed: [Int64: Int] = [:]

    mutating func received(_ bytes: Int) { count &+= bytes }

    mutating func consumed(_ bytes: Int) { count &-= bytes }

    /// The stream is closed. Its bytes must still be consumed, or dropped.
    mutating func close(_ stream: Int64, unread: Int) {
        if unread > 0 { closed[stream] = unread }
    }

    /// Subtracts at most the bytes that the closed stream has. Returns false if it has none.
    mutating func consumed(_ bytes: Int, ofClosed stream: Int64) -> Bool {
        guard let left = closed[stream] else { return false }
        let taken = min(max(bytes, 0), left)
        closed[stream] = taken < left ? left &- taken : nil
        count &-= taken
        return true
    }

    /// The reader will not consume the bytes of the closed stream. Returns false if it has none.
    mutating func dropped(ofClosed stream: Int64) -> Bool {
        guard let left = closed.removeValue(forKey: stream) else { return false }
        count &-= left
        return true
    }
}
