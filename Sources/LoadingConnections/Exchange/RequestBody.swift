package import FoundationEssentials
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The body of a request.
package enum RequestBody {
    case none
    case bytes(Data)
    /// A stream of bytes. `length` is its announced length; without one, the body is sent chunked (MISC-5).
    case source(any RequestBodySource, length: Int64?)

    /// How the body is framed (MISC-5).
    package var framing: HTTP1RequestBody {
        switch self {
        case .none: .none
        case .bytes(let data): .known(Int64(data.count))
        case .source(_, let length): length.map { .known($0) } ?? .chunked
        }
    }
}

/// Supplies a request body in pieces. Each piece is requested after the kernel took the previous one, so a body of any
/// size needs the memory of one piece. Used on one loop.
package protocol RequestBodySource: AnyObject {
    /// Whether no piece has been requested. Only then can the whole body still be sent.
    var isUnread: Bool { get }
    /// Requests the next piece. `deliver` is called once, on the loop, now or later.
    ///
    /// - Parameter mayBePiped: Whether the bytes may bypass the memory of the process.
    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void)
    /// No more pieces are needed.
    func cancel()
}

/// The next piece from a `RequestBodySource`.
package enum BodyPiece {
    case bytes(Data)
    /// A number of bytes in a pipe. The pipe is empty when the next piece is requested.
    case piped(SplicePipe, Int)
    case end
}
