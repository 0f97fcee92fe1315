/// What a read brought.
package enum StreamRead {
    case bytes(Int)
    case wouldBlock
    /// The peer ended the stream in order.
    case end
    /// The connection ended without TLS saying so; what was read may have been cut by somebody.
    case truncated
    case failed(StreamFailure)
}
