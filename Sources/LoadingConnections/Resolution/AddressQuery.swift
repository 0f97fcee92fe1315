internal import Glibc
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

/// What a resolver said: addresses with port 0, or why it has none.
package typealias AddressAnswer = Result<[SocketAddress], NameFailure>

/// A code of `getaddrinfo`, and the errno when that code says EAI_SYSTEM.
package struct NameFailure: Error, Hashable, Sendable {
    package let code: Int32
    package let posixCode: Int32

    // GNU's own, which Swift does not see: EAI_NODATA and EAI_ADDRFAMILY.
    private static let noData: Int32 = -5
    private static let noAddressesOfFamily: Int32 = -9

    package init(code: Int32, posixCode: Int32 = 0) {
        self.code = code
        self.posixCode = posixCode
    }

    /// The server could not be asked now; the name may well exist.
    package var isTemporary: Bool { code == EAI_AGAIN || code == EAI_SYSTEM }

    /// There is nothing of what was asked for, and asking again would not change that soon.
    var isDefinite: Bool { [EAI_NONAME, Self.noData, Self.noAddressesOfFamily].contains(code) }

    /// This machine had no descriptor, or no thread, to ask with.
    var isLackOfMeans: Bool { [EMFILE, ENFILE, EAGAIN].contains(posixCode) }
}
