/// What a read of datagrams has brought.
package enum DatagramRead {
    /// So many bytes: datagrams of `segment` bytes each, the last of which may be shorter. `mark` has the two bits by
    /// which the network tells of congestion (RFC 3168).
    case datagrams(count: Int, segment: Int, mark: UInt8)
    case wouldBlock
    /// The network says what became of something that was sent: nobody listens there, or there is no way.
    case failed(POSIXFailure)
}
