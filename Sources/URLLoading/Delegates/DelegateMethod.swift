/// The optional methods of all delegate protocols, one bit each; a method with an `async` form has two.
struct DelegateMethod: OptionSet, Sendable {
    let rawValue: UInt64

    static let sessionDidBecomeInvalid = bit(0)
    static let sessionDidReceiveChallenge = bit(1)
    static let sessionDidReceiveChallengeAsync = bit(2)
    static let sessionDidFinishEvents = bit(3)

    static let taskDidCreate = bit(4)
    static let taskWillBeginDelayedRequest = bit(5)
    static let taskWillBeginDelayedRequestAsync = bit(6)
    static let taskIsWaitingForConnectivity = bit(7)
    static let taskWillPerformRedirection = bit(8)
    static let taskWillPerformRedirectionAsync = bit(9)
    static let taskDidReceiveChallenge = bit(10)
    static let taskDidReceiveChallengeAsync = bit(11)
    static let taskNeedsNewBodyStream = bit(12)
    static let taskNeedsNewBodyStreamAsync = bit(13)
    static let taskNeedsNewBodyStreamFromOffset = bit(14)
    static let taskNeedsNewBodyStreamFromOffsetAsync = bit(15)
    static let taskDidSendBodyData = bit(16)
    static let taskDidReceiveInformationalResponse = bit(17)
    static let taskDidFinishCollectingMetrics = bit(18)
    static let taskDidComplete = bit(19)

    static let dataTaskDidReceiveResponse = bit(20)
    static let dataTaskDidReceiveResponseAsync = bit(21)
    static let dataTaskDidBecomeDownload = bit(22)
    static let dataTaskDidBecomeStream = bit(23)
    static let dataTaskDidReceiveData = bit(24)
    static let dataTaskWillCacheResponse = bit(25)
    static let dataTaskWillCacheResponseAsync = bit(26)

    static let downloadTaskDidWriteData = bit(27)
    static let downloadTaskDidResume = bit(28)

    static let streamTaskReadClosed = bit(29)
    static let streamTaskWriteClosed = bit(30)
    static let streamTaskBetterRoute = bit(31)
    static let streamTaskDidBecomeStreams = bit(32)

    static let webSocketTaskDidOpen = bit(33)
    static let webSocketTaskDidClose = bit(34)

    /// Every method of ``URLSessionTaskDelegate``, and every one of ``URLSessionDataDelegate``.
    static let ofTasks = DelegateMethod(rawValue: (1 << 20) - (1 << 4))
    static let ofDataTasks = DelegateMethod(rawValue: (1 << 27) - (1 << 20))

    private static func bit(_ number: UInt64) -> DelegateMethod { DelegateMethod(rawValue: 1 << number) }
}
