package import FoundationEssentials
package import LoadingSemantics

/// What a request carries.
package enum RequestBody {
    case none
    case bytes(Data)
    /// A stream of bytes; `length` when it is announced, else the body goes out chunked (MISC-5).
    case source(any RequestBodySource, length: Int64?)
}

/// Gives a request body piece by piece, each when the one before is with the kernel, so a body of any size needs one
/// piece of memory. Used on one loop.
package protocol RequestBodySource: AnyObject {
    /// Whether nothing has been asked for yet: only then the body can still be sent whole.
    var isUntouched: Bool { get }
    /// Asks for the next piece. `deliver` is called once, on the loop, now or later: with bytes, with nil at the end, or
    /// with an error.
    func nextPiece(_ deliver: @escaping (Result<Data?, LoadError>) -> Void)
    /// Nobody wants more.
    func cancel()
}
