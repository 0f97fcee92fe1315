package import LoadingSemantics

/// How the end of a response's body is found (RFC 9112 §6.3).
package enum HTTP1BodyLength: Sendable, Equatable {
    /// Never a body: HEAD, 204, 304.
    case none
    case known(Int64)
    case chunked
    case untilClose

    /// The same, without how the body is framed.
    package var length: BodyLength {
        switch self {
        case .none: .none
        case .known(let length): .known(length)
        case .chunked: .unknown
        case .untilClose: .untilClose
        }
    }
}
