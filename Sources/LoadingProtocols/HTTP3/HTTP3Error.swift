/// Why a connection cannot go on, or never came to be. All of its streams end with it.
package enum HTTP3Error: Error, Equatable, Sendable {
    /// ngtcp2, nghttp3 or GnuTLS is missing. The text names the missing or unusable file.
    case unavailable(String)
    case outOfMemory
    /// GnuTLS cannot use the client certificate or its key.
    case unusableIdentity
    /// The server has sent HelloRetryRequest after early data. A handshake without that may succeed.
    case helloRetryRequest
    /// The handshake failed on this side, with that alert of TLS.
    case handshake(alert: UInt8)
    case handshakeTimeout
    /// The server supports no version of QUIC that this side supports.
    case versionNegotiation
    /// The peer broke a rule of HTTP/3 or QUIC. The code is sent to it; the text is for diagnosis.
    case violation(code: UInt64, isApplication: Bool, String)
    /// The peer causes work that serves no request.
    case flood(HTTP3Flood)
    /// The peer has closed the connection, with an error code of HTTP/3 or of QUIC and a text for diagnosis.
    case closedByPeer(code: UInt64, isApplication: Bool, reason: String)
    /// The peer has lost the state of this connection.
    case statelessReset
    /// No packet arrived during the negotiated idle timeout.
    case idleTimeout
    /// There is no usable path.
    case noPath
    /// `fail()`, `close(at:)` or `reject(alert:)` was called.
    case closed
    /// Called from inside one of the observer's methods.
    case reentered

    /// Whether the peer has ended the connection with an alert of TLS, or accepts no new connection
    /// (CONNECTION_REFUSED). Before it has confirmed the handshake it has seen no request then (RFC 9000 §20.1, RFC
    /// 9001 §4.8, §5.7).
    package var isOfHandshake: Bool {
        guard case .closedByPeer(let code, isApplication: false, reason: _) = self else { return false }
        return code == 0x02 || code >> 8 == 1
    }
}

/// What a peer sent far too much of.
package enum HTTP3Flood: Sendable, Equatable {
    /// Datagrams and frames that serve no request.
    case idle
    /// One header section that is far too long.
    case headerList
}
