/// How much a peer may have this side do for nothing.
///
/// Frames that bring a request nowhere use it up; requests, bodies and answers fill it again. So a connection may live
/// for as long as it is of use, and one that is of none ends after a few thousand frames.
struct HTTP2Allowance: Equatable {
    /// Enough for days of pings on a connection that waits.
    static let most = 10_000
    /// What a request is good for: settings, pings and window updates around it.
    static let request = 32
    /// What a frame that carries something is good for, in either direction: the window updates that it leads to.
    static let content = 4
    /// Some servers open the windows of stream and connection whenever their program has read something, and some read little
    /// at a time. Of what is sent so many bytes are good for such a frame.
    static let opened = 32
    /// Of what may be on its way when nobody wants it any more, so many bytes count as a frame; and no more is kept of that,
    /// nor of what was sent.
    static let promised = 1_024
    static let mostPromised = 32_768

    private var left = most
    /// Window updates that what was sent is good for.
    private var openings = 0
    /// Frames of the header block in work, and its bytes with their heads.
    private var blockFrames = 0
    private(set) var blockLength = 0

    private let maximumBlockFrames: Int
    private let maximumBlockLength: Int

    init(limits: HTTP2Limits) {
        maximumBlockFrames = limits.maximumBlockFrameCount
        maximumBlockLength = limits.maximumHeadLength
    }

    mutating func add(_ count: Int) {
        left = max(left, min(left &+ count, Self.most))
    }

    /// Somebody has read some of a frame.
    mutating func addReadFrame() {
        add(Self.content &+ 1)
    }

    /// So much of a body has gone out in a frame.
    mutating func addSent(_ count: Int) {
        add(Self.content)
        openings = min(openings &+ count / Self.opened, Self.mostPromised)
    }

    /// What comes of a stream is not wanted any more, and its window has let so many bytes be sent.
    mutating func addPromised(_ count: Int) {
        left = max(left, min(left &+ count / Self.promised, Self.mostPromised))
    }

    /// A frame begins. Says what it is too much of.
    mutating func received(_ head: HTTP2FrameHead) -> HTTP2Flood? {
        switch head.type {
        case HTTP2FrameHead.headers:
            blockFrames = 0
            blockLength = 0
            return addToBlock(head) ?? use()
        case HTTP2FrameHead.continuation:
            return addToBlock(head) ?? use()
        case HTTP2FrameHead.windowUpdate where openings > 0:
            openings &-= 1
            return nil
        default:
            return use()
        }
    }

    private mutating func use() -> HTTP2Flood? {
        left &-= 1
        return left < 0 ? .idleFrames : nil
    }

    private mutating func addToBlock(_ head: HTTP2FrameHead) -> HTTP2Flood? {
        blockFrames &+= 1
        blockLength &+= HTTP2FrameHead.length &+ head.payloadLength
        return blockFrames > maximumBlockFrames || blockLength > maximumBlockLength ? .headerBlock : nil
    }
}
