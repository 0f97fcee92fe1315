/// What the parser has to know of a request to find the end of its response.
package enum HTTP1RequestKind: Sendable, Equatable {
    /// HEAD: the response never has a body.
    case head
    /// CONNECT: a 2xx turns the connection into a tunnel.
    case connect
    /// The request carries `Upgrade`: 101 hands the connection over.
    case upgrade
    case other
}
