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

    /// The key for the connection pool. Its host is an ASCII host name, or an address without brackets.
    ///
    /// - Parameter service: The connection's requirements on the network.
    static func connectionKey(host: String, port: Int, _ service: NetworkService) throws(LoadError) -> ConnectionKey {
        guard let number = UInt16(exactly: port) else { throw .badURL }
        // Host names contain no colon, so this is an IPv6 address.
        let isBareAddress = host.contains(":") && !host.hasPrefix("[")
        // Bytes that would end the host in a URL are invalid, also before a combining mark.
        guard !host.isEmpty, !host.utf8.contains(where: "/?#@\\".utf8.contains) else { throw .cannotFindHost }
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
    /// Counts the calls of `resolve` and `cancel`: a completion of an earlier one may still be posted.
    private var generation = 0
    /// Whether the service is looked for, or was found.
    private(set) var isResolving = false

    init(_ lookup: ServiceLookup) { self.lookup = lookup }

    /// Calls `completion` once, on the loop and in a later turn, unless `cancel` is called before.
    ///
    /// - Parameter timeout: Seconds.
    func resolve(
        within timeout: Double, on loop: EventLoop,
        _ completion: @escaping (Result<ResolvedService, DiscoveryFailure>) -> Void
    ) {
        generation += 1
        isResolving = true
        let own = generation
        let completion = LoopBox(completion)
        operation = lookup.start(timeout: timeout < 9e9 ? Int64(max(0, timeout) * 1e9) : nil) { [self] result in
            loop.post { if own == self.generation { completion.value(result) } }
        }
    }

    func cancel() {
        generation += 1
        isResolving = false
        operation?.cancel()
        operation = nil
    }
}
