/// Why a connection cannot go on, or never came to be. All of its streams end with it.
package enum HTTP3Error: Error, Equatable, Sendable {
    /// The system has not all of ngtcp2, nghttp3 and GnuTLS. The text names the file that is missing or unusable.
    case unavailable(String)
    case outOfMemory
    /// The certificate to be known by, or its key, is none that GnuTLS can use.
    case unusableIdentity
    /// The server wants another hello, and early data went out with the first. A handshake without that may succeed.
    case helloRetryRequest
    /// The handshake failed on this side, with that alert of TLS.
    case handshake(alert: UInt8)
    case handshakeTimeout
    /// The server speaks no version of QUIC that is known here.
    case versionNegotiation
    /// The peer broke a rule of HTTP/3, or of QUIC, and was told the code. The text is for people.
    case violation(code: UInt64, isApplication: Bool, String)
    /// The peer has this connection do work that serves no request.
    case flood(HTTP3Flood)
    /// The peer has ended the connection, with a code of HTTP/3's or of QUIC's and words for people.
    case closedByPeer(code: UInt64, isApplication: Bool, reason: String)
    /// The peer knows nothing of this connection any more.
    case statelessReset
    /// Nothing was heard of the peer for as long as was agreed on.
    case idleTimeout
    /// The path leads nowhere any more.
    case noPath
    /// `fail()`, `close(at:)` or `reject(alert:)` was called.
    case closed
    /// Called from inside one of the observer's methods.
    case reentered

    /// Whether the peer has ended the connection with an alert of TLS. Before it has confirmed the handshake it has seen no
    /// request then (RFC 9001 §4.8, §5.7).
    package var isOfHandshake: Bool {
        if case .closedByPeer(0x100...0x1FF, isApplication: false, reason: _) = self { true } else { false }
    }
}
