package import LoadingConnections
internal import LoadingEvents
package import LoadingSemantics
package import LoadingTransport

/// What the loads of one session share: loop, pool, and the fields that every request carries. Confined to the loop.
package final class LoadingEnvironment {
    package let loop: EventLoop
    package let pool: ConnectionPool
    package let authentication = AuthenticationMemory()
    let transportSecurity: TransportSecurityStage
    /// Nil if nothing goes through a proxy.
    let proxies: ProxyRules?
    /// Sent with every request unless the caller set a field of that name (MISC-1), for http and for https.
    let clearDefaults: HTTPFields
    let secureDefaults: HTTPFields

    package init(
        loop: EventLoop, pool: ConnectionPool, transportSecurity: TransportSecurityStage, proxies: ProxyRules?,
        clearDefaults: HTTPFields, secureDefaults: HTTPFields
    ) {
        self.loop = loop
        self.pool = pool
        self.transportSecurity = transportSecurity
        self.proxies = proxies.flatMap { $0.areEmpty ? nil : $0 }
        self.clearDefaults = clearDefaults
        self.secureDefaults = secureDefaults
    }
}
