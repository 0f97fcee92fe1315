internal import LoadingProtocols

/// A request that was sent as early data, and the events of its stream until a request adopts it. The stream's
/// flow-control window limits their size.
struct EarlyExchange {
    enum Event {
        case sentHead(Int)
        case sentRequest(at: Int64)
        case informational(HTTPStreamResponseHead)
        case head(HTTPStreamResponseHead, isWhole: Bool)
        case body([UInt8])
        /// `bytes`: the size of the body on the wire.
        case end(bytes: Int64)
    }

    let request: HTTPStreamRequest
    let number: Int64
    /// When the request was submitted to the connection.
    let start: Int64
    var events: [Event] = []
    /// Whether a request has adopted the stream.
    var isTakenUp = false
    /// Whether both directions of the stream are closed.
    var isClosed = false

    /// Whether the server rejects the request until the handshake is complete (`tooEarly`).
    var isTooEarly: Bool {
        events.contains { if case .head(let head, _) = $0 { head.status == Self.tooEarly } else { false } }
    }

    /// Whether the final response has begun.
    var isAnswered: Bool { events.contains { if case .head = $0 { true } else { false } } }

    /// Too Early (RFC 8470)
    static let tooEarly = 425
}
