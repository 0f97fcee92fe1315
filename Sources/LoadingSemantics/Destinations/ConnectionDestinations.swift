/// Where connections go instead of where DNS leads: other addresses, other hosts, one address family, or a local
/// socket. TLS still authenticates the host of the URL.
package struct ConnectionDestinations: Sendable, Hashable {
    /// The address families that are used.
    package enum Families: Sendable, Hashable {
        case all
        case ipv4
        case ipv6
    }

    private struct Given: Sendable, Hashable {
        let hostPort: HostPort
        let literals: [String]
    }

    private struct Redirection: Sendable, Hashable {
        /// Nil for any.
        let host: String?
        let port: UInt16?
        /// Nil for the same.
        let newHost: String?
        let newPort: UInt16?
    }

    package var families = Families.all
    /// The path of a local stream socket, through which every host is reached. A path that begins with NUL is a name in
    /// the abstract namespace (unix(7)).
    package var socketPath: String?
    /// The host `*` is any host. Each host and port is in the list once. A list, because it is short, and empty in
    /// nearly all programs.
    private var addresses: [Given] = []
    private var redirections: [Redirection] = []

    package init() {}

    /// Whether any connection goes to another address, host or port than its URL and DNS say.
    package var redirects: Bool { socketPath != nil || !addresses.isEmpty || !redirections.isEmpty }

    package var isEmpty: Bool { self == ConnectionDestinations() }

    /// Whether a host is an address literal, with or without a zone.
    package static func isAddress(_ host: String) -> Bool {
        IPAddressRange.bytes(String(host.prefix { $0 != "%" })) != nil
    }

    /// Sets the addresses of a host. Returns false, without a change, if one of them is not an address literal.
    package mutating func resolve(host: String, port: UInt16, to literals: [String]) -> Bool {
        guard !literals.isEmpty, literals.allSatisfy(Self.isAddress) else { return false }
        forget(host: host, port: port)
        addresses.append(Given(hostPort: HostPort(host.lowercased(), port), literals: literals))
        return true
    }

    package mutating func forget(host: String, port: UInt16) {
        let hostPort = HostPort(host.lowercased(), port)
        addresses.removeAll { $0.hostPort == hostPort }
    }

    /// Connects to another host. The first redirection that matches counts.
    package mutating func connect(host: String?, port: UInt16?, toHost newHost: String?, port newPort: UInt16?) {
        redirections.append(
            Redirection(host: host?.lowercased(), port: port, newHost: newHost?.lowercased(), newPort: newPort))
    }

    /// The given addresses of a host; nil if its name is to be resolved.
    package func addresses(of hostPort: HostPort) -> [String]? {
        if addresses.isEmpty { return nil }
        let anyHost = HostPort("*", hostPort.port)
        let given = addresses.first { $0.hostPort == hostPort } ?? addresses.first { $0.hostPort == anyHost }
        return given?.literals
    }

    /// The host and port to connect to instead of these. They may be the same.
    package func destination(of hostPort: HostPort) -> HostPort {
        let match = redirections.first {
            ($0.host ?? hostPort.host) == hostPort.host && ($0.port ?? hostPort.port) == hostPort.port
        }
        guard let match else { return hostPort }
        return HostPort(match.newHost ?? hostPort.host, match.newPort ?? hostPort.port)
    }

    /// Whether connections to a host and port go elsewhere, so that its DNS records do not apply.
    package func replaces(_ hostPort: HostPort) -> Bool {
        socketPath != nil || addresses(of: hostPort) != nil || destination(of: hostPort) != hostPort
    }
}
