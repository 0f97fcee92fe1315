/// Why a request was not taken. Nothing of it was or will be sent.
package enum HTTPStreamRequestError: Error, Equatable, Sendable {
    /// Not a token.
    case invalidMethod
    /// The scheme, the authority or the path is empty or holds something that has no place there.
    case invalidTarget
    /// Not a token.
    case invalidFieldName
    /// Holds CR, LF or NUL.
    case invalidFieldValue
    case missingHost
    case severalHosts
    case negativeBodyLength
    /// Name and value together, or all fields together, are longer than the protocol's implementation can send.
    case headTooLong
    /// The connection takes no more requests: it is going away, has failed, or has no stream number left.
    case notAllowed
}
