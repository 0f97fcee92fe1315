/// The window of one stream: how it grows.
struct StreamWindow: Equatable {
    private(set) var size: Int
    /// Bytes that were reported and not consumed.
    private(set) var unread = 0
    /// Bytes that were consumed since the window last grew.
    private var consumedSinceGrowth = 0

    init(size: Int) {
        self.size = size
    }

    mutating func received(_ count: Int) {
        unread &+= count
    }

    /// Subtracts at most the unread bytes, and returns how many.
    mutating func consumed(_ count: Int) -> Int {
        let count = min(max(count, 0), unread)
        unread &-= count
        consumedSinceGrowth &+= count
        return count
    }

    /// The next size, if the reader has consumed a whole window and keeps up: then the window may limit the server. It
    /// doubles each time, like TCP's window in slow start.
    mutating func grow(upTo maximum: Int) -> Int? {
        guard size < maximum, consumedSinceGrowth >= size, unread <= size / 4 else { return nil }
        size = min(size &* 2, maximum)
        consumedSinceGrowth = 0
        return size
    }
}

/// The remaining growth of all stream windows of a connection.
struct StreamWindowGrowth: Equatable {
    private var left: Int
    private let initialSize: Int

    init(_ windows: StreamWindowSizes) {
        left = windows.maximumGrowth
        initialSize = windows.initialStream
    }

    /// The window's new size; nil if it does not grow. It takes no more than it leaves to the windows of later streams.
    mutating func grow(_ window: inout StreamWindow, upTo maximum: Int) -> Int? {
        let before = window.size
        let room = max(0, left &- (before &- initialSize)) / 2
        guard let size = window.grow(upTo: min(maximum, before &+ room)) else { return nil }
        left &-= size &- before
        return size
    }

    /// The stream is closed.
    mutating func takeBack(_ window: StreamWindow) { left &+= window.size &- initialSize }
}
