package import LoadingConnections
package import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The state that the loads of one session share: the loop, the pool, and the fields of every request. Confined to the
/// loop.
///
/// The stores and the observer are set once, before the first load. Exclusive access to them is not checked.
package final class LoadingEnvironment {
    package let loop: EventLoop
    package let pool: ConnectionPool
    package let authentication = AuthenticationMemory()
    /// Each store is nil if the session has none.
    @exclusivity(unchecked) package var cookies: (any CookieStore)?
    @exclusivity(unchecked) package var responses: (any ResponseStore)?
    @exclusivity(unchecked) package var credentials: (any CredentialStore)?
    let transportSecurity: TransportSecurityStage
    let proxies: ProxyRoutes?
    /// Sent with every request unless the caller has set a field of that name (MISC-1); separate for http and https.
    let clearDefaults: HTTPFields
    /// On first use, because they depend on whether Brotli can be loaded.
    private(set) lazy var secureDefaults = makeSecureDefaults()
    private let makeSecureDefaults: () -> HTTPFields
    /// Their lines in HTTP/1.1.
    let clearDefaultLines: [UInt8]
    private(set) lazy var secureDefaultLines = HTTP1RequestEncoder.lines(of: secureDefaults)
    /// Called on the loop with the head of each sent request and of each received response; nil to report no heads.
    @exclusivity(unchecked) package var headObserver: (@Sendable (MessageHead) -> Void)?

    package init(
        loop: EventLoop, pool: ConnectionPool, transportSecurity: TransportSecurityStage, proxies: ProxyRoutes?,
        clearDefaults: HTTPFields, secureDefaults: @autoclosure @escaping () -> HTTPFields
    ) {
        self.loop = loop
        self.pool = pool
        self.transportSecurity = transportSecurity
        self.proxies = proxies.flatMap { $0.rules.isEmpty ? nil : $0 }
        self.clearDefaults = clearDefaults
        makeSecureDefaults = secureDefaults
        clearDefaultLines = HTTP1RequestEncoder.lines(of: clearDefaults)
    }

    /// From now on every request uses a new connection, with a new DNS lookup, and tries its routes in their original
    /// order (CONN-18).
    package func renewConnections() {
        pool.retireAll()
        pool.resolver.forgetAnswers()
        proxies?.forgetFailures()
    }

    /// The URL for an HTTP proxy that loads an `ftp:` URL. Nil if there is no such proxy, or if the routes are not
    /// known without a script or the desktop.
    package func forwarded(ftp text: String) -> HTTPURL? {
        guard let proxies, text.utf8.first.map({ $0 | 0x20 }) == UInt8(ascii: "f"), let url = try? FTPURL(text),
            proxies.rules.externalSource(for: ProxyDestination(url)) == nil,
            case .through(let proxy)? = proxies.rules.route(for: ProxyDestination(url)).routes.first, proxy.forwards
        else { return nil }
        return url.httpURL
    }
}
