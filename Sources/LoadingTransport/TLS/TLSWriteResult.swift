/// What became of a write.
package enum TLSWriteResult: Equatable, Sendable {
    /// So many bytes were taken, perhaps not all. The next write must begin with the first one that was not.
    case bytes(Int)
    /// Write the same bytes again when the descriptor is writable.
    case wouldBlock
    /// Write the same bytes again after the next `TLSStream.read`.
    case wantsRead
    case failed(TLSError)
}
