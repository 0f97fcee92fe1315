internal import LoadingTransport

/// A connection that may lose its way.
protocol RoutedConnection: AnyObject {
    var isIdle: Bool { get }
    var localAddress: SocketAddress? { get }
    var remoteAddress: SocketAddress? { get }
    /// Nothing will come over the way that it has had.
    func wasCutOff()
}

extension HTTP1Connection: RoutedConnection {
    var localAddress: SocketAddress? { stream.localAddress }
    var remoteAddress: SocketAddress? { stream.remoteAddress }
}
