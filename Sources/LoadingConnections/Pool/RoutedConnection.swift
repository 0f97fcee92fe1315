internal import LoadingTransport

/// A connection that may lose its way.
protocol RoutedConnection: AnyObject {
    var isIdle: Bool { get }
    /// From where it goes: several where the kernel has several ways for it.
    var localAddresses: [SocketAddress] { get }
    var remoteAddress: SocketAddress? { get }
    /// Whether it has no way now, and waits for one.
    var hasLostLocalAddress: Bool { get }
    /// Whether it can go on from another address (RFC 9000 §9).
    var canMigrate: Bool { get }
    /// Nothing will come over the way that it has had.
    func localAddressWasLost()
}

extension RoutedConnection {
    var hasLostLocalAddress: Bool { false }
    var canMigrate: Bool { false }
}

extension HTTP1Connection: RoutedConnection {
    var localAddresses: [SocketAddress] { stream.localAddresses }
    var remoteAddress: SocketAddress? { stream.remoteAddress }
}
