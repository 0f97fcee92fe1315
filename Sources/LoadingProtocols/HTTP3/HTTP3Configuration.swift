internal import LoadingSemantics

/// Limits of HTTP/3 and QUIC that no caller changes. `HTTPStreamLimits` has those that all versions share.
enum HTTP3Limits {
    /// Bytes of the QPACK table that the server may fill, and how many streams may wait for its entries.
    static let tableCapacity = 4_096
    static let blockedStreams = 16
    /// Requests at a time for nghttp3, including cancelled ones that the server still sends on.
    static let cancelledStreams = 1_000
    /// Unidirectional streams of the server: three that HTTP/3 needs, and some of unknown types.
    static let unidirectionalStreams = 16
    static let connectionIDs = 4
    /// Session tickets that are kept.
    static let tickets = 16
    /// Bytes of one handshake message. GnuTLS would collect a message of any announced length.
    static let handshakeMessage = 128 << 10
    /// Bytes of the issuer names in a request for a client certificate.
    static let issuers = 64 << 10
}

/// The settings and limits of a session.
package struct HTTP3Configuration: Sendable {
    /// The limits and the windows are the same whatever the version, since they bound the same memory.
    package var limits: HTTPStreamLimits
    package var windows: StreamWindowSizes
    /// The bytes of a request body that are kept until the peer acknowledges them.
    package var maximumUnacknowledged: Int
    /// The connection is lost if no packet arrives for so long, in nanoseconds.
    package var idleTimeout: Int64
    package var handshakeTimeout: Int64
    /// The interval of PINGs while requests or the trust decision are pending, in nanoseconds.
    package var keepAliveInterval: Int64
    /// Receives the qlog of the connection, piece by piece.
    package var qlog: (@Sendable (_ piece: UnsafeRawBufferPointer, _ isLast: Bool) -> Void)?
    /// Receives the secrets of the connection, as lines of the NSS key log format without line feeds.
    package var secretLog: (@Sendable (_ line: UnsafePointer<CChar>) -> Void)?

    package init(
        limits: HTTPStreamLimits = HTTPStreamLimits(), windows: StreamWindowSizes = StreamWindowSizes(),
        maximumUnacknowledged: Int = 16 << 20, idleTimeout: Int64 = TimeLimits.standard.quicIdle,
        handshakeTimeout: Int64 = TimeLimits.standard.quicHandshake,
        keepAliveInterval: Int64 = TimeLimits.standard.quicKeepAlive,
        qlog: (@Sendable (_ piece: UnsafeRawBufferPointer, _ isLast: Bool) -> Void)? = nil,
        secretLog: (@Sendable (_ line: UnsafePointer<CChar>) -> Void)? = nil
    ) {
        self.limits = limits
        self.windows = windows
        self.maximumUnacknowledged = max(maximumUnacknowledged, 0)
        self.idleTimeout = max(idleTimeout, 1_000_000)
        self.handshakeTimeout = max(handshakeTimeout, 1_000_000)
        self.keepAliveInterval = max(keepAliveInterval, 1_000_000)
        self.qlog = qlog
        self.secretLog = secretLog
    }
}

/// The two ends of a connection's path, as `struct sockaddr_in` or `struct sockaddr_in6`.
package struct HTTP3Endpoints: Sendable, Hashable {
    package var local: [UInt8]
    package var remote: [UInt8]

    package init(local: [UInt8], remote: [UInt8]) {
        self.local = local
        self.remote = remote
    }
}

/// A client certificate with its key, in DER.
package struct HTTP3Identity: Sendable {
    /// The certificate, then the intermediate certificates.
    package let chain: [[UInt8]]
    package let key: [UInt8]
    /// The only server certificate that it may be shown to; a handshake with another fails. Empty: any.
    package let reader: [UInt8]

    package init(chain: [[UInt8]], key: [UInt8], reader: [UInt8] = []) {
        self.chain = chain
        self.key = key
        self.reader = reader
    }
}

/// A session ticket, with which the next connection to the same server has a shorter handshake.
///
/// A resumed session presents no certificate, so it inherits the trust decision of the first handshake.
package struct HTTP3Resumption: Sendable, Equatable {
    /// In GnuTLS's format.
    let ticket: [UInt8]
    /// The server's transport parameters, which apply to early data.
    let transportParameters: [UInt8]
    /// Whether it allows early data.
    package let hasEarlyData: Bool
    /// Seconds from its reception.
    package let lifetime: Int64
}
