/// Why a connection has failed. All of its streams end with it.
package enum HTTP2Error: Error, Equatable, Sendable {
    /// The peer broke a rule of frames or of header compression. The code is sent to it; the text is for diagnosis.
    case violation(HTTP2ErrorCode, String)
    /// The peer causes work that serves no request.
    case flood(HTTP2Flood)
    case outOfMemory
    /// `HTTP2Session.fail()` was called.
    case closed
    /// Called from inside one of the observer's methods.
    case reentered
}

/// What a peer sent far too much of.
package enum HTTP2Flood: Sendable, Equatable {
    /// PING, SETTINGS and other frames that serve no request, and empty frames.
    case idleFrames
    /// One header block in too many frames, or too long before it was decompressed.
    case headerBlock
    /// One header block that becomes far too long when it is decompressed.
    case headerList
    /// Frames that need an answer, faster than the peer reads the answers.
    case unsentAnswers
}
