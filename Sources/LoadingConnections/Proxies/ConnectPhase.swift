/// What somebody waits for who goes a way, in order.
package enum ConnectPhase: Sendable {
    /// The address of whoever that leads to first.
    case resolution
    /// The first connection, with its TLS where a proxy wants that.
    case connection
    /// That the proxy has made a tunnel.
    case tunnel
}
