/// What a write came to.
package enum StreamWrite {
    case bytes(Int)
    case wouldBlock
    case failed(StreamFailure)
}
