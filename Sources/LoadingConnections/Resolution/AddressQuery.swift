package import LoadingTransport

/// What a resolver is asked: the addresses of one family that a host has.
package struct AddressQuery: Hashable, Sendable {
    package let host: String
    package let family: SocketAddress.Family

    package init(_ host: String, _ family: SocketAddress.Family) {
        self.host = host
        self.family = family
    }

    /// The question about the same host's other addresses.
    var sibling: AddressQuery { AddressQuery(host, family == .ipv4 ? .ipv6 : .ipv4) }
}
