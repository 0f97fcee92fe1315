/// What became of datagrams that were to be sent.
package enum DatagramWrite {
    case sent
    /// The socket has no room for them now.
    case wouldBlock
    /// Longer than what the way takes: dropped, as the network would have.
    case tooLong
    case failed(POSIXFailure)
}
