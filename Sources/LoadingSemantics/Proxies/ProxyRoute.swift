/// The ways to a server, in the order in which they are tried.
package struct ProxyRoute: Sendable, Hashable {
    package enum Way: Sendable, Hashable {
        case direct
        case through(ProxyServer)
    }

    package let ways: [Way]

    package init(_ ways: [Way]) { self.ways = ways }

    package static func through(_ server: ProxyServer) -> ProxyRoute { ProxyRoute([.through(server)]) }

    package static let direct = ProxyRoute([.direct])

    /// A proxy is wanted, and nobody can tell which. To go without it would show the user's network what it was to hide.
    package static let blocked = ProxyRoute([])

    package var isDirect: Bool { ways == [.direct] }
}
