package import LoadingSemantics

/// The header section of one response, interim or final.
package struct HTTPStreamResponseHead: Sendable, Equatable {
    /// Three digits, 100 to 999.
    package var status: Int
    /// Without the pseudo-header fields; names are in lower case.
    package var fields: HTTPFields
    /// Length on the wire: the compressed fields, and the heads of their frames.
    package var byteCount: Int

    package init(status: Int, fields: HTTPFields, byteCount: Int) {
        self.status = status
        self.fields = fields
        self.byteCount = byteCount
    }
}

/// Why a stream ended before its response did.
package enum HTTPStreamFailure: Error, Equatable, Sendable {
    /// The server has not looked at the request: REFUSED_STREAM, H3_REQUEST_REJECTED, or a GOAWAY that names an earlier
    /// stream as the last.
    case refused
    /// The server requires HTTP/1.1 for the request.
    case http11Required
    /// The server has reset the stream, with a code of its protocol's.
    case reset(code: UInt64, after: LostExchange.Progress)
    /// The response breaks a rule of HTTP. The stream was reset; the connection goes on.
    case malformed(String)
    /// The response has ended as if it were whole, before as much of its body had come as it has announced. The stream
    /// was reset.
    case truncated
    /// This side has reset it, or the body failed.
    case cancelled
    /// The connection cannot go on.
    case connectionLost(after: LostExchange.Progress)

    /// Whether the server has reset the stream because it has too much to do: with ENHANCE_YOUR_CALM or
    /// H3_EXCESSIVE_LOAD.
    package var isOverload: Bool {
        guard case .reset(let code, after: _) = self else { return false }
        return code == UInt64(HTTP2ErrorCode.enhanceYourCalm.rawValue) || code == HTTP3ErrorCode.excessiveLoad.rawValue
    }

    /// How far the request had come, which decides whether it may be sent again (CONN-4, CONN-10).
    package var progress: LostExchange.Progress {
        switch self {
        case .refused, .http11Required: .refused
        case .reset(_, let progress), .connectionLost(let progress): progress
        case .malformed, .truncated: .answered
        case .cancelled: .sent
        }
    }
}
