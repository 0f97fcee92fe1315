internal import Glibc
package import LoadingSemantics

/// What a proxy does for the connections of an origin.
package enum ProxyMode: Hashable, Sendable {
    /// It passes bytes on to the origin's host, by CONNECT or SOCKS.
    case tunnel(ProxyServer)
    /// It is what the connections lead to, and loads itself what it is asked for (RFC 9112 §3.2.2).
    ///
    /// `identity`: whose connections to it they are, for schemes that prove a connection to be somebody's; 0 for nobody's.
    case forwarding(ProxyServer, identity: UInt64)

    /// What the proxy is to do.
    var service: ProxyFailure.Service {
        switch self {
        case .forwarding: .request
        case .tunnel(let proxy): proxy.kind.isSOCKS ? .socks : .tunnel
        }
    }

    var server: ProxyServer {
        switch self {
        case .tunnel(let proxy), .forwarding(let proxy, _): proxy
        }
    }

    /// The proxy has not done its part in time (PROXY-10).
    package var silence: LoadError {
        ConnectionFailure(.unreachable(service, .connectionAttemptFailed(ETIMEDOUT)), of: server).error
    }
}
