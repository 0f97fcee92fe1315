package import LoadingSemantics

/// What a proxy does for the connections of an origin.
package enum ProxyPassage: Hashable, Sendable {
    /// It passes bytes on to the origin's host, by CONNECT or SOCKS.
    case tunnel(ProxyServer)
    /// It is what the connections lead to, and loads itself what it is asked for (RFC 9112 §3.2.2).
    case forwarding(ProxyServer)
}
