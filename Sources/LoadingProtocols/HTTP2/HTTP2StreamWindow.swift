/// The window of one stream: how it grows.
struct HTTP2StreamWindow: Equatable {
    private(set) var size: Int
    /// Bytes that were told and not yet consumed.
    private(set) var unread = 0
    /// Bytes that were consumed since the window has had its size.
    private var consumedSinceGrowth = 0

    init(size: Int) {
        self.size = size
    }

    mutating func received(_ count: Int) {
        unread &+= count
    }

    /// Takes at most what is unread off it, and says how much that is.
    mutating func consumed(_ count: Int) -> Int {
        let count = min(max(count, 0), unread)
        unread &-= count
        consumedSinceGrowth &+= count
        return count
    }

    /// The next size, if the reader has taken a whole window and is not behind: then the window may be what holds the
    /// server up. Twice as much each time, as TCP grows at its start.
    mutating func grow(upTo maximum: Int) -> Int? {
        guard size < maximum, consumedSinceGrowth >= size, unread <= size / 4 else { return nil }
        size = min(size &* 2, maximum)
        consumedSinceGrowth = 0
        return size
    }
}
