/// What a peer sent far more of than the requests can explain.
package enum HTTP3Flood: Sendable, Equatable {
    /// Datagrams and frames that bring no request further.
    case idle
    /// One header section that is far too long.
    case headerList
}
