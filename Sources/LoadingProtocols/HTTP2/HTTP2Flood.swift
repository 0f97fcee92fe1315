/// What a peer sent far more of than the requests can explain.
package enum HTTP2Flood: Sendable, Equatable {
    /// PING, SETTINGS and other frames that bring no request further, and empty ones.
    case idleFrames
    /// One header block in too many frames, or too long before it was decompressed.
    case headerBlock
    /// One header block that becomes far too long when it is decompressed.
    case headerList
    /// Frames that ask for an answer, faster than the answers are taken.
    case unsentAnswers
}
