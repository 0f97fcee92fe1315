package import FoundationEssentials
package import LoadingTransport

/// What a `RequestBodySource` gives next.
package enum BodyPiece {
    case bytes(Data)
    /// So many bytes that lie in a pipe. It is empty when the next piece is asked for.
    case piped(SplicePipe, Int)
    case end
}
