/// Finds the address of a host by multicast DNS.
final class HostOperation: DiscoveryOperation, @unchecked Sendable {
    // Sendable as its superclass is.

    private let host: String
    private let family: SocketAddress.Family
    private var completion: ((Result<[SocketAddress], DiscoveryFailure>) -> Void)?

    init(
        _ discovery: ServiceDiscovery, host: String, family: SocketAddress.Family, timeout: Int64,
        completion: @escaping @Sendable (Result<[SocketAddress], DiscoveryFailure>) -> Void
    ) {
        self.host = host
        self.family = family
        self.completion = completion
        super.init(discovery, timeout: timeout)
    }

    override func start() {
        guard !host.isEmpty, ServiceName.isDomain(host) else { return fail(.invalidArgument) }
        let any = BusArgument.int32(-1)
        let arguments: [BusArgument] = [any, any, .text(host), .int32(family == .ipv4 ? 0 : 1), .uint32(0)]
        session?.callServer("ResolveHostName", arguments) { [weak self] result in
            guard let self, !self.isEnded else { return }
            switch result {
            case .success(let values):
                guard let address = self.address(in: values) else { return self.fail(.unexpectedReply) }
                if !self.isCancelled { self.completion?(.success([address])) }
                self.end()
            case .failure(let failure): self.fail(failure)
            }
        }
    }

    /// Reads interface, protocol, name, family and text of the address, and flags.
    private func address(in values: [BusValue]) -> SocketAddress? {
        guard values.count == 6, case .int32(let interface) = values[0], case .text(let text) = values[4],
            let address = SocketAddress(avahi: text, interface: interface), address.family == family
        else { return nil }
        return address
    }

    override func failed(_ failure: DiscoveryFailure) { completion?(.failure(failure)) }
    override func release() { completion = nil }
}
