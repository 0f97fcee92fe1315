/// Why a request was not written. Each would let the sender's data say something the sender did not mean.
package enum HTTP1EncodingError: Error, Equatable, Sendable {
    /// Not a token.
    case invalidMethod
    /// Empty, or holds whitespace, a control character, a fragment or anything else that is no part of the target.
    case invalidTarget
    /// Not a token.
    case invalidFieldName
    /// Holds CR, LF or NUL.
    case invalidFieldValue
    case missingHost
    case severalHosts
    case negativeBodyLength
}
