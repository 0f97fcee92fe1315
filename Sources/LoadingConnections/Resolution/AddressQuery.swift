internal import Glibc
package import LoadingTransport

/// A query for the addresses of a host in one family.
package struct AddressQuery: Hashable, Sendable {
    package let host: String
    package let family: SocketAddress.Family

    package init(_ host: String, _ family: SocketAddress.Family) {
        self.host = host
        self.family = family
    }

    /// The query for the addresses of the host in the other family.
    var sibling: AddressQuery { AddressQuery(host, family == .ipv4 ? .ipv6 : .ipv4) }
}

/// The resolver's answer. No `Result`, whose type the runtime would find only by a search of all conformances to
/// `Error`.
package enum AddressAnswer: Hashable, Sendable {
    /// With port 0.
    case success([SocketAddress])
    case failure(NameFailure)
}

/// A code of `getaddrinfo`, and the errno if that code is EAI_SYSTEM.
package struct NameFailure: Error, Hashable, Sendable {
    package let code: Int32
    package let posixCode: Int32

    // GNU extensions that Swift does not import: EAI_NODATA and EAI_ADDRFAMILY.
    private static let noData: Int32 = -5
    private static let noAddressesOfFamily: Int32 = -9

    package init(code: Int32, posixCode: Int32 = 0) {
        self.code = code
        self.posixCode = posixCode
    }

    /// The server could not be queried now; the name may exist.
    package var isTemporary: Bool { code == EAI_AGAIN || code == EAI_SYSTEM }

    /// There is no such record, and a repeated query would soon give the same answer.
    var isDefinite: Bool { [EAI_NONAME, Self.noData, Self.noAddressesOfFamily].contains(code) }

    /// This machine had no descriptor or no thread for the query.
    var isLackOfMeans: Bool { [EMFILE, ENFILE, EAGAIN].contains(posixCode) }
}
