/// Counts the frames of a peer against its `AbuseBudget`, and measures header blocks.
struct HTTP2FrameBudget: Equatable {
    /// The sent bytes that allow one WINDOW_UPDATE frame at no cost. Some servers update both windows whenever their
    /// program has read something, and some read little at a time.
    static let sentBytesPerWindowUpdate = 32
    static let maximumWindowUpdates = 32_768

    private var budget = AbuseBudget()
    /// WINDOW_UPDATE frames that cost nothing.
    private var windowUpdates = 0
    /// Frames of the header block that is being received, and its bytes with the frame heads.
    private var blockFrames = 0
    private(set) var blockLength = 0

    private let maximumBlockFrames: Int
    private let maximumBlockLength: Int

    init(limits: HTTPStreamLimits) {
        maximumBlockFrames = limits.maximumBlockFrameCount
        maximumBlockLength = limits.maximumHeadLength
    }

    /// A request was submitted, or a response has begun.
    mutating func addRequest() {
        budget.add(AbuseBudget.perRequest)
    }

    /// A DATA frame has brought content.
    mutating func addReceivedContent() {
        budget.add(AbuseBudget.perContent &+ 1)
    }

    /// A DATA frame has taken so many bytes of a body.
    mutating func addSentContent(_ count: Int) {
        budget.add(AbuseBudget.perContent)
        windowUpdates = min(windowUpdates &+ count / Self.sentBytesPerWindowUpdate, Self.maximumWindowUpdates)
    }

    /// A stream was cancelled whose window has allowed so many bytes.
    mutating func addCancelledWindow(_ bytes: Int) {
        budget.addWindow(bytes)
    }

    /// A frame begins. Returns the limit that it exceeds.
    mutating func received(_ head: HTTP2FrameHead) -> HTTP2Flood? {
        switch head.type {
        case HTTP2FrameHead.headers:
            blockFrames = 0
            blockLength = 0
            return addToBlock(head) ?? spend()
        case HTTP2FrameHead.continuation:
            return addToBlock(head) ?? spend()
        case HTTP2FrameHead.windowUpdate where windowUpdates > 0:
            windowUpdates &-= 1
            return nil
        default:
            return spend()
        }
    }

    private mutating func spend() -> HTTP2Flood? {
        budget.spend(1) ? nil : .idleFrames
    }

    private mutating func addToBlock(_ head: HTTP2FrameHead) -> HTTP2Flood? {
        blockFrames &+= 1
        blockLength &+= HTTP2FrameHead.length &+ head.payloadLength
        return blockFrames > maximumBlockFrames || blockLength > maximumBlockLength ? .headerBlock : nil
    }
}
