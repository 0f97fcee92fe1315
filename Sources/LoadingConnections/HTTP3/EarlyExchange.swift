internal import LoadingProtocols

/// A request that went out before the server had answered, and what has come of it until somebody takes it up. The window
/// of its stream bounds that.
struct EarlyExchange {
    enum News {
        case sentHead(Int)
        case sentRequest(at: Int64)
        case informational(HTTPStreamResponseHead)
        case head(HTTPStreamResponseHead, isWhole: Bool)
        case body([UInt8])
        /// `bytes`: what the body took on the wire.
        case end(bytes: Int64)
    }

    let request: HTTPStreamRequest
    let number: Int64
    /// When it was given to the connection.
    let start: Int64
    var news: [News] = []
    /// Somebody wants the answer.
    var isTakenUp = false
    /// Both directions of its stream are over.
    var isClosed = false

    /// Whether the server does not take it before the handshake is over (RFC 8470).
    var isTooEarly: Bool {
        news.contains { if case .head(let head, _) = $0 { head.status == Self.tooEarly } else { false } }
    }

    /// Whether the final response has begun.
    var isAnswered: Bool { news.contains { if case .head = $0 { true } else { false } } }

    /// 425
    static let tooEarly = 425
}
