internal import LoadingTransport

/// Whom a connection leads to.
struct ConnectedPeer {
    let address: SocketAddress
    /// In DER, the leaf first.
    let certificates: [[UInt8]]
    let agreement: ServerTrustDecision.Agreement
}
