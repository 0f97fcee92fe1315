package import LoadingSemantics

/// What a proxy has answered that wants to know who asks it for a tunnel (AUTH-28).
package struct TunnelChallenge {
    package let head: ResponseHead
    package let proxy: ProxyServer
    package let destination: ProxyDestination
}
