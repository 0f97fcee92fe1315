internal import LoadingConnections
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingTransport

extension LoadingEnvironment {
    /// The connections, proxies and rules of a configuration, without its stores. Called on any thread, for a loop that does not have
    /// it yet.
    convenience init(_ configuration: SessionValues, on loop: EventLoop) {
        let transportSecurity = AppTransportSecurity(configuration)
        let proxies = ProxyRoutes(configuration, on: loop)
        if HTTP3Session.isAvailable { configuration.persistentAlternatives?.prepare() }
        let pool = ConnectionPool(
            loop: loop,
            security: ConnectionSecurity(TLSConfiguration(configuration), transportSecurity: transportSecurity),
            maximumPerHost: configuration.httpMaximumConnectionsPerHost, isAlwaysDirect: proxies.rules.isEmpty,
            alternatives: configuration.alternatives)
        pool.requiredVersion = configuration.requiredHTTPVersion
        self.init(
            loop: loop, pool: pool,
            transportSecurity: TransportSecurityStage(hosts: configuration.hsts, rules: transportSecurity),
            proxies: proxies,
            clearDefaults: RequestDefaults.fields(isSecure: false, programVersion: configuration.programVersion),
            secureDefaults: RequestDefaults.fields(isSecure: true, programVersion: configuration.programVersion))
    }
}
