internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// Where a stream task connects to, as it was given.
struct StreamEndpoint {
    var host: String
    var port: Int

    /// As an address, for a log.
    var description: String {
        host.contains(":") && !host.hasPrefix("[") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
    }

    /// The same as the engine wants it: a name in ASCII, or an address without brackets.
    ///
    /// - Parameter service: What the connection wants of the network.
    func origin(_ service: NetworkService) throws(LoadError) -> ConnectionKey {
        guard let number = UInt16(exactly: port) else { throw .badURL }
        // A colon is in no name, so this is an address of IPv6.
        let isBareAddress = host.contains(":") && !host.hasPrefix("[")
        // Whatever would end the host in a URL is in no host.
        guard !host.isEmpty, !host.contains(where: { "/?#@\\".contains($0) }) else { throw .cannotFindHost }
        do {
            let url = try HTTPURL("https://\(isBareAddress ? "[\(host)]" : host):\(number)")
            return ConnectionKey(isSecure: true, host: url.host, port: number, service: service)
        } catch {
            throw LoadError.cannotFindHost
        }
    }
}
