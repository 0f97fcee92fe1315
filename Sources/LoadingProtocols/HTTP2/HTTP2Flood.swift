/// What a peer sent far more of than the requests can explain.
package enum HTTP2Flood: Sendable, Equatable {
    /// PING, SETTINGS and other frames that carry nothing for a stream, or empty ones.
    case idleFrames
    /// Streams that the peer resets before they have an answer.
    case resets
    /// One header block in too many frames, or too long before it was decompressed.
    case headerBlock
    /// One header block that becomes too long when it is decompressed.
    case headerList
    /// Frames that ask for an answer, faster than the answers can be sent.
    case unsentAnswers
}
