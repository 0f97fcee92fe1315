/// Why a connection cannot go on. All of its streams end with it.
package enum HTTP2Error: Error, Equatable, Sendable {
    /// The peer broke the rules of frames or of header compression. The code is what it is told, the text is for people.
    case violation(HTTP2ErrorCode, String)
    /// The peer has this connection do work that serves no request.
    case flood(HTTP2Flood)
    case outOfMemory
    /// `HTTP2Session.fail()` was called.
    case closed
    /// Called from inside one of the observer's methods.
    case reentered
}
