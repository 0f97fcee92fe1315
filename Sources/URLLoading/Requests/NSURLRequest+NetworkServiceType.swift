extension NSURLRequest {
    /// What kind of traffic a request carries: a hint that may set the priority of its packets, nothing more.
    public enum NetworkServiceType: UInt, Sendable {
        /// Ordinary traffic.
        case `default` = 0
        /// Control traffic of a voice-over-IP call.
        case voip = 1
        /// Video.
        case video = 2
        /// Traffic nobody waits for.
        case background = 3
        /// Voice.
        case voice = 4
        /// Data a person is waiting for.
        case responsiveData = 6
        /// Buffered audio or video.
        case avStreaming = 8
        /// Audio or video with little buffering.
        case responsiveAV = 9
        /// Setting up a call.
        case callSignaling = 11
    }
}
