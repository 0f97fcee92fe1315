/// A service to connect to.
package struct ServiceLookup: Sendable {
    package let service: ServiceName
    private let known: ResolvedService?
    private let discovery: ServiceDiscovery

    /// - Parameter known: What was resolved before.
    package init(_ service: ServiceName, known: ResolvedService?, in discovery: ServiceDiscovery = .shared) {
        self.service = service
        self.known = known
        self.discovery = discovery
    }

    /// Finds the host, the port and at least one address. A service that was resolved before is not looked up again;
    /// then there is no operation.
    ///
    /// - Parameters:
    ///   - timeout: Nanoseconds; nil for no limit.
    ///   - completion: Called once, on any thread, possibly before this returns, unless the operation is cancelled
    ///     before.
    package func start(
        timeout: Int64?, completion: @escaping @Sendable (Result<ResolvedService, DiscoveryFailure>) -> Void
    ) -> DiscoveryOperation? {
        if let known, !known.addresses.isEmpty {
            completion(.success(known))
            return nil
        }
        return discovery.endpoint(of: service, timeout: timeout, completion: completion)
    }
}
