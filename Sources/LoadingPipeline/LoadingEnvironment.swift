package import LoadingConnections
package import LoadingEvents
package import LoadingSemantics
package import LoadingTransport

/// What the loads of one session share: loop, pool, and the fields that every request carries. Confined to the loop.
package final class LoadingEnvironment {
    package let loop: EventLoop
    package let pool: ConnectionPool
    package let authentication = AuthenticationMemory()
    /// Each nil without such a store.
    package var cookies: (any CookieStore)?
    package var responses: (any ResponseStore)?
    package var credentials: (any CredentialStore)?
    let transportSecurity: TransportSecurityStage
    /// Nil if nothing goes through a proxy.
    let proxies: ProxyRoutes?
    /// Sent with every request unless the caller set a field of that name (MISC-1), for http and for https.
    let clearDefaults: HTTPFields
    let secureDefaults: HTTPFields
    /// Called on the loop with the head of each request that goes out and of each response that comes; nil for no heads.
    package var headObserver: (@Sendable (MessageHead) -> Void)?

    package init(
        loop: EventLoop, pool: ConnectionPool, transportSecurity: TransportSecurityStage, proxies: ProxyRoutes?,
        clearDefaults: HTTPFields, secureDefaults: HTTPFields
    ) {
        self.loop = loop
        self.pool = pool
        self.transportSecurity = transportSecurity
        self.proxies = proxies.flatMap { $0.rules.isEmpty ? nil : $0 }
        self.clearDefaults = clearDefaults
        self.secureDefaults = secureDefaults
    }

    /// From now on every request goes over a new connection, to an address that is looked up anew, and by the first of its ways
    /// (CONN-18).
    package func renewConnections() {
        pool.retireAll()
        pool.resolver.forgetAnswers()
        proxies?.forgetFailures()
    }

    /// The address of an `ftp:` URL that a proxy of HTTP is to load; nil where none is, and where somebody would have to be
    /// asked first.
    package func forwarded(ftp text: String) -> HTTPURL? {
        guard let proxies, text.utf8.first.map({ $0 | 0x20 }) == UInt8(ascii: "f"), let url = try? FTPURL(text),
            proxies.rules.externalSource(for: ProxyDestination(url)) == nil,
            case .through(let proxy)? = proxies.rules.route(for: ProxyDestination(url)).routes.first, proxy.forwards
        else { return nil }
        return url.httpURL
    }
}
