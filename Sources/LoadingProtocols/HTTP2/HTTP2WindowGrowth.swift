/// How much the windows of a connection's streams may still grow, all together.
struct HTTP2WindowGrowth: Equatable {
    private var left: Int
    private let initialSize: Int

    init(_ windows: HTTP2Windows) {
        left = windows.maximumGrowth
        initialSize = windows.initialStream
    }

    /// The window's next size, if it is to have another one.
    mutating func grow(_ window: inout HTTP2StreamWindow, upTo maximum: Int) -> Int? {
        let before = window.size
        guard let size = window.grow(upTo: min(maximum, before &+ left)) else { return nil }
        left &-= size &- before
        return size
    }

    /// The stream is closed.
    mutating func takeBack(_ window: HTTP2StreamWindow) { left &+= window.size &- initialSize }
}
