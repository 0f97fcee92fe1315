internal import Glibc
package import LoadingSemantics

/// Why a coded body could not be decoded.
package enum ContentCodingError: Error, Sendable, Equatable {
    /// The body ended before its coding did.
    case truncated
    /// The bytes are not what the coding allows.
    case corrupt
    /// `Content-Encoding` names more codings than any honest server stacks.
    case tooManyCodings
    /// The library found no memory for its state.
    case outOfMemory
}

extension ContentCodingError {
    /// ENC-10: a body cut short is a lost connection, a broken one cannot be decoded.
    package var loadError: LoadError {
        switch self {
        case .truncated: .networkConnectionLost
        case .corrupt, .tooManyCodings: .cannotDecodeRawData
        case .outOfMemory: LoadError(code: -1015, cause: .posix(ENOMEM))
        }
    }
}
