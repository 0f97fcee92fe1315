/// Why a multipart body could not be read: -1017.
package enum MultipartParseError: Error, Equatable, Sendable {
    case headTooLong
    case tooManyFields
}
