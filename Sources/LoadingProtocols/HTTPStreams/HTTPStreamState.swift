internal import LoadingSemantics

/// The state of one stream that is the same in HTTP/2 and HTTP/3.
protocol HTTPStreamState {
    var isHeadSent: Bool { get }
    /// Any response has begun, including an interim one.
    var isAnswered: Bool { get }
    var informationalCount: Int { get set }
    /// Bytes of interim responses that report an upload's progress.
    var progressLength: Int { get set }
}

extension HTTPStreamState {
    var progress: LostExchange.Progress {
        if isAnswered { return .answered }
        return isHeadSent ? .sent : .unsent
    }

    /// Counts an interim response. False if there are too many. 104 is reported without a limit on the count (RES-14),
    /// but with one on the bytes.
    mutating func countInformational(_ head: HTTPStreamResponseHead, within limits: HTTPStreamLimits) -> Bool {
        if head.status == 104 {
            progressLength &+= head.byteCount
            return progressLength >> 4 <= limits.maximumHeadLength
        }
        informationalCount &+= 1
        return informationalCount <= limits.maximumInformationalResponses
    }
}
