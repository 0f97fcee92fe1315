internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// What a stream task connects to, as passed by the program.
enum StreamEndpoint {
    case host(String, port: Int)
    case service(ServiceEndpoint)

    /// For logs.
    var description: String {
        switch self {
        case .host(let host, let port):
            host.contains(":") && !host.hasPrefix("[") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
        case .service(let endpoint): "\(endpoint.lookup.service)"
        }
    }

    /// The origin for the connection pool: an ASCII host name, or an address without brackets.
    ///
    /// - Parameter service: The connection's requirements on the network.
    static func origin(host: String, port: Int, _ service: NetworkService) throws(LoadError) -> ConnectionKey {
        guard let number = UInt16(exactly: port) else { throw .badURL }
        // Host names contain no colon, so this is an IPv6 address.
        let isBareAddress = host.contains(":") && !host.hasPrefix("[")
        // Characters that would end the host in a URL are invalid.
        guard !host.isEmpty, !host.contains(where: { "/?#@\\".contains($0) }) else { throw .cannotFindHost }
        do {
            let url = try HTTPURL("https://\(isBareAddress ? "[\(host)]" : host):\(number)")
            return ConnectionKey(isSecure: true, host: url.host, port: number, service: service)
        } catch {
            throw LoadError.cannotFindHost
        }
    }
}

/// A service of the local network, until it is resolved (STREAM-10). Confined to the loop of its session.
final class ServiceEndpoint: @unchecked Sendable {
    // Sendable because `lookup` is, and the loop alone uses the operation.

    let lookup: ServiceLookup
    private var operation: DiscoveryOperation?

    init(_ lookup: ServiceLookup) { self.lookup = lookup }

    var isResolving: Bool { operation != nil }

    /// Calls `completion` once, on the loop, unless `cancel` is called before.
    ///
    /// - Parameter timeout: Seconds.
    func resolve(
        within timeout: Double, on loop: EventLoop,
        _ completion: @escaping (Result<ResolvedService, DiscoveryFailure>) -> Void
    ) {
        let completion = LoopBox(completion)
        operation = lookup.start(timeout: timeout < 9e9 ? Int64(max(0, timeout) * 1e9) : nil) { result in
            loop.post { completion.value(result) }
        }
    }

    func cancel() {
        operation?.cancel()
        operation = nil
    }
}
