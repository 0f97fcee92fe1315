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
