package import LoadingSemantics

/// Gives a request body piece by piece, each when the one before is with the kernel, so a body of any size needs one
/// piece of memory. Used on one loop.
package protocol RequestBodySource: AnyObject {
    /// Whether nothing has been asked for yet: only then the body can still be sent whole.
    var isUntouched: Bool { get }
    /// Asks for the next piece. `deliver` is called once, on the loop, now or later.
    ///
    /// - Parameter mayBePiped: Whether the bytes need not pass through the memory of the process.
    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void)
    /// Nobody wants more.
    func cancel()
}
