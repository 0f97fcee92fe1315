/// Why a multipart body could not be read: -1017.
package enum MultipartParseError: Error, Equatable, Sendable {
    case headTooLong
    case tooManyFields
    /// A CR in a part's head that no LF follows (RFC 9112 §2.2).
    case bareCarriageReturn
}
