package import FoundationEssentials
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// What a request carries.
package enum RequestBody {
    case none
    case bytes(Data)
    /// A stream of bytes; `length` when it is announced, else the body goes out chunked (MISC-5).
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

/// Gives a request body piece by piece, each when the one before is with the kernel, so a body of any size needs one
/// piece of memory. Used on one loop.
package protocol RequestBodySource: AnyObject {
    /// Whether nothing has been asked for yet: only then the body can still be sent whole.
    var isUntouched: Bool { get }
    /// Asks for the next piece. `deliver` is called once, on the loop, now or later.
    ///
    /// - Parameter mayBePiped: Whether the bytes need not pass through the memory of the process.
    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void)
    /// No more is needed.
    func cancel()
}

/// What a `RequestBodySource` gives next.
package enum BodyPiece {
    case bytes(Data)
    /// So many bytes that lie in a pipe. It is empty when the next piece is asked for.
    case piped(SplicePipe, Int)
    case end
}
