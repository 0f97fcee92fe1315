/// Why a response could not be read. Nothing more can be read from that connection.
package enum HTTP1ParseError: Error, Equatable, Sendable {
    // The connection ended too early: -1005.
    /// Not one byte of a response came.
    case endOfInputBeforeResponse
    /// The connection ended inside a head, or after an interim response.
    case endOfInputInHead
    /// The connection ended before the body was whole.
    case endOfInputInBody

    // The head is malformed: -1017, as is everything below.
    case tooManyLeadingEmptyLines
    /// Not `HTTP/1.x`, three digits and an optional reason; also what an HTTP/0.9 server sends.
    case malformedStatusLine
    /// A status line of another major version.
    case unsupportedVersion
    case headTooLong
    case tooManyFields
    /// Empty, or holds something else than token characters (a space before the colon, for instance).
    case malformedFieldName
    case missingColon
    /// A continuation line with no field to continue.
    case foldBeforeFirstField
    /// A NUL in a field value or in the reason phrase.
    case nulInHead
    /// A CR in a head or in trailers that no LF follows.
    case bareCarriageReturn
    case tooManyInformationalResponses
    /// 101 for a request without `Upgrade`.
    case unexpectedProtocolSwitch

    // The body's framing is malformed.
    /// Empty, not all digits, or more than 63 bits.
    case malformedContentLength
    case conflictingContentLengths
    /// A transfer coding other than `chunked`: the request allowed none.
    case unsupportedTransferCoding
    case malformedChunkSize
    case chunkSizeOverflow
    case chunkLineTooLong
    /// Something else than a line end after a chunk's data.
    case missingChunkEnd
    case trailerTooLong

    /// Whether the connection ended too early (-1005, and the request may be worth another try), as opposed to bytes
    /// that are no HTTP/1 response (-1017).
    package var isEarlyEnd: Bool {
        switch self {
        case .endOfInputBeforeResponse, .endOfInputInHead, .endOfInputInBody: true
        default: false
        }
    }
}
