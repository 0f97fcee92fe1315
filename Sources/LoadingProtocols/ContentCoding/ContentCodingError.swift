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
