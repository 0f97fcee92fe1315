internal import LoadingConnections
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

extension LoadingEnvironment {
    /// The environment of a session's loads.
    ///
    /// - Parameters:
    ///   - transportSecurity: The rules of App Transport Security; nil for none.
    ///   - hsts: Instead of the store of the values.
    ///   - alternatives: Instead of the store of the values.
    ///   - userAgent: The value of `User-Agent`; nil for that of this program.
    convenience init(
        _ values: SessionValues, transportSecurity: AppTransportSecurity?, hsts: HSTSStore? = nil,
        alternatives: (any AlternativeServicesStore)? = nil, userAgent: String? = nil, on loop: EventLoop
    ) {
        let proxies = ProxyRoutes(values, on: loop)
        let pool = ConnectionPool(
            loop: loop,
            security: ConnectionSecurity(
                TLSConfiguration(values), transportSecurity: transportSecurity, clock: loop.clock),
            maximumPerHost: values.httpMaximumConnectionsPerHost, isAlwaysDirect: proxies.rules.isEmpty,
            alternatives: alternatives ?? values.alternatives)
        pool.requiredVersion = values.requiredHTTPVersion
        pool.destinations = values.destinations
        let agent = userAgent ?? RequestDefaults.userAgent(programVersion: values.programVersion)
        self.init(
            loop: loop, pool: pool,
            transportSecurity: TransportSecurityStage(hosts: hsts ?? values.hsts, rules: transportSecurity),
            proxies: proxies, clearDefaults: RequestDefaults.fields(isSecure: false, userAgent: agent),
            secureDefaults: RequestDefaults.fields(isSecure: true, userAgent: agent))
        headObserver = values.headObserver
        cookies = SessionCookies(values, on: loop)
        credentials = values.urlCredentialStorage.map { SessionCredentials($0, on: loop) }
    }
}
