internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// The host and port of a stream task, as passed by the program.
struct StreamEndpoint {
    var host: String
    var port: Int

    /// A `tcp:` URL, for logs.
    var description: String {
        host.contains(":") && !host.hasPrefix("[") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
    }

    /// The origin for the connection pool: an ASCII host name, or an address without brackets.
    ///
    /// - Parameter service: The connection's requirements on the network.
    func origin(_ service: NetworkService) throws(LoadError) -> Origin {
        guard let number = UInt16(exactly: port) else { throw .badURL }
        // Host names contain no colon, so this is an IPv6 address.
        let isBareAddress = host.contains(":") && !host.hasPrefix("[")
        // Characters that would end the host in a URL are invalid.
        guard !host.isEmpty, !host.contains(where: { "/?#@\\".contains($0) }) else { throw .cannotFindHost }
        do {
            let url = try HTTPURL("https://\(isBareAddress ? "[\(host)]" : host):\(number)")
            return Origin(isSecure: true, host: url.host, port: number, service: service)
        } catch {
            throw LoadError.cannotFindHost
        }
    }
}
