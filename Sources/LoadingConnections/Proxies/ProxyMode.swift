internal import Glibc
package import LoadingSemantics

/// How the connections of an origin use a proxy.
///
/// Indirect, so that a `ConnectionKey`, which each load copies, is small.
package indirect enum ProxyMode: Hashable, Sendable {
    /// The proxy relays bytes to the origin's host, through CONNECT or SOCKS.
    case tunnel(ProxyServer)
    /// The connections end at the proxy, which forwards the requests (absolute-form, RFC 9112 §3.2.2).
    ///
    /// `identity`: the identity that the connections to the proxy authenticate, for schemes that authenticate a
    /// connection; 0 for none.
    case forwarding(ProxyServer, identity: UInt64)

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

    /// The proxy did not complete its step in time (PROXY-10).
    package var timeoutError: LoadError {
        ConnectionFailure(.unreachable(service, .connectionAttemptFailed(ETIMEDOUT)), of: server).error
    }
}
