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
        let place: HostPort
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
    /// The host `*` is any host. Each place is there once. They are few, and no program has them but those that ask for them.
    private var addresses: [Given] = []
    private var redirections: [Redirection] = []

    package init() {}

    /// Whether any place is reached at another one than in DNS.
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
        addresses.append(Given(place: HostPort(host.lowercased(), port), literals: literals))
        return true
    }

    package mutating func forget(host: String, port: UInt16) {
        let place = HostPort(host.lowercased(), port)
        addresses.removeAll { $0.place == place }
    }

    /// Connects to another host. The first redirection that matches counts.
    package mutating func connect(host: String?, port: UInt16?, toHost newHost: String?, port newPort: UInt16?) {
        redirections.append(
            Redirection(host: host?.lowercased(), port: port, newHost: newHost?.lowercased(), newPort: newPort))
    }

    /// The given addresses of a host; nil if its name is to be resolved.
    package func addresses(of place: HostPort) -> [String]? {
        if addresses.isEmpty { return nil }
        let anyHost = HostPort("*", place.port)
        let given = addresses.first { $0.place == place } ?? addresses.first { $0.place == anyHost }
        return given?.literals
    }

    /// The place to connect to instead of this one, which may be the same.
    package func destination(of place: HostPort) -> HostPort {
        let match = redirections.first {
            ($0.host ?? place.host) == place.host && ($0.port ?? place.port) == place.port
        }
        guard let match else { return place }
        return HostPort(match.newHost ?? place.host, match.newPort ?? place.port)
    }

    /// Whether the place is reached at another one than in DNS, so its records there do not count.
    package func replaces(_ place: HostPort) -> Bool {
        socketPath != nil || addresses(of: place) != nil || destination(of: place) != place
    }
}
