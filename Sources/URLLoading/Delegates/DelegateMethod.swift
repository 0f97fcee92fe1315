/// The optional methods of all delegate protocols, one bit each. A method with an `async` variant has two bits.
package struct DelegateMethod: OptionSet, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let sessionDidBecomeInvalid = bit(0)
    package static let sessionDidReceiveChallenge = bit(1)
    package static let sessionDidReceiveChallengeAsync = bit(2)
    package static let sessionDidFinishEvents = bit(3)

    package static let taskDidCreate = bit(4)
    package static let taskWillBeginDelayedRequest = bit(5)
    package static let taskWillBeginDelayedRequestAsync = bit(6)
    package static let taskIsWaitingForConnectivity = bit(7)
    package static let taskWillPerformRedirection = bit(8)
    package static let taskWillPerformRedirectionAsync = bit(9)
    package static let taskDidReceiveChallenge = bit(10)
    package static let taskDidReceiveChallengeAsync = bit(11)
    package static let taskNeedsNewBodyStream = bit(12)
    package static let taskNeedsNewBodyStreamAsync = bit(13)
    package static let taskNeedsNewBodyStreamFromOffset = bit(14)
    package static let taskNeedsNewBodyStreamFromOffsetAsync = bit(15)
    package static let taskDidSendBodyData = bit(16)
    package static let taskDidReceiveInformationalResponse = bit(17)
    package static let taskDidFinishCollectingMetrics = bit(18)
    package static let taskDidComplete = bit(19)

    package static let dataTaskDidReceiveResponse = bit(20)
    package static let dataTaskDidReceiveResponseAsync = bit(21)
    package static let dataTaskDidBecomeDownload = bit(22)
    package static let dataTaskDidBecomeStream = bit(23)
    package static let dataTaskDidReceiveData = bit(24)
    package static let dataTaskWillCacheResponse = bit(25)
    package static let dataTaskWillCacheResponseAsync = bit(26)

    package static let downloadTaskDidWriteData = bit(27)
    package static let downloadTaskDidResume = bit(28)

    package static let streamTaskReadClosed = bit(29)
    package static let streamTaskWriteClosed = bit(30)
    package static let streamTaskBetterRoute = bit(31)
    package static let streamTaskDidBecomeStreams = bit(32)

    package static let webSocketTaskDidOpen = bit(33)
    package static let webSocketTaskDidClose = bit(34)

    /// The methods that each protocol adds to the protocol it refines.
    package static let taskMethods = DelegateMethod(rawValue: 0xF_FFF0)
    package static let dataMethods = DelegateMethod(rawValue: 0x7F0_0000)
    package static let downloadMethods: DelegateMethod = [.downloadTaskDidWriteData, .downloadTaskDidResume]
    package static let streamMethods: DelegateMethod = [
        .streamTaskReadClosed, .streamTaskWriteClosed, .streamTaskBetterRoute, .streamTaskDidBecomeStreams,
    ]
    package static let webSocketMethods: DelegateMethod = [.webSocketTaskDidOpen, .webSocketTaskDidClose]

    private static func bit(_ number: UInt64) -> DelegateMethod { DelegateMethod(rawValue: 1 << number) }
}
