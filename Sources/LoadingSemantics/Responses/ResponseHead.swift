/// The status and the fields of an interim or final response.
package struct ResponseHead: Sendable, Equatable {
    /// 100 to 999.
    package var status: Int
    package var version: HTTPVersion
    /// Often empty: optional in HTTP/1.1, absent in HTTP/2.
    package var reason: String
    package var fields: HTTPFields
    /// The size on the wire, including framing.
    package var byteCount: Int

    package init(status: Int, version: HTTPVersion, reason: String = "", fields: HTTPFields, byteCount: Int) {
        self.status = status
        self.version = version
        self.reason = reason
        self.fields = fields
        self.byteCount = byteCount
    }
}

/// The HTTP version of a message.
package enum HTTPVersion: Sendable, Equatable {
    case http10
    /// Also later minor versions of HTTP/1.
    case http11
    case http2
    case http3

    /// As in `HTTPURLResponse` and status lines.
    package var text: String {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        case .http2: "HTTP/2.0"
        case .http3: "HTTP/3.0"
        }
    }
}

/// The length of a response body by its head, before content decoding.
package enum BodyLength: Sendable, Equatable {
    /// The response has no body, whatever its fields say.
    case none
    case known(Int64)
    /// The protocol marks the end.
    case unknown
    /// The body ends with the connection.
    case untilClose
}
