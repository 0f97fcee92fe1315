internal import LoadingSemantics

/// What a session announces and allows.
package struct HTTP3Configuration: Sendable {
    /// The limits and the windows are the same whatever the version, since they bound the same memory.
    package var limits: HTTP2Limits
    package var windows: HTTP2Windows
    /// How much of what was sent is kept in case that it is lost on its way.
    package var maximumUnacknowledged: Int
    /// Without a word of the peer's for so long the connection is lost, in nanoseconds.
    package var idleTimeout: Int64
    package var handshakeTimeout: Int64
    /// How often the peer is asked for a word while requests are out or trust is decided on, in nanoseconds.
    package var keepAliveInterval: Int64
    /// What the connection does in the form of qlog, piece by piece as it happens.
    package var qlog: (@Sendable (_ piece: UnsafeRawBufferPointer, _ isLast: Bool) -> Void)?

    package init(
        limits: HTTP2Limits = HTTP2Limits(), windows: HTTP2Windows = HTTP2Windows(),
        maximumUnacknowledged: Int = 16 << 20, idleTimeout: Int64 = TimeLimits.standard.quicIdle,
        handshakeTimeout: Int64 = TimeLimits.standard.quicHandshake,
        keepAliveInterval: Int64 = TimeLimits.standard.quicKeepAlive,
        qlog: (@Sendable (_ piece: UnsafeRawBufferPointer, _ isLast: Bool) -> Void)? = nil
    ) {
        self.limits = limits
        self.windows = windows
        self.maximumUnacknowledged = max(maximumUnacknowledged, 0)
        self.idleTimeout = max(idleTimeout, 1_000_000)
        self.handshakeTimeout = max(handshakeTimeout, 1_000_000)
        self.keepAliveInterval = max(keepAliveInterval, 1_000_000)
        self.qlog = qlog
    }
}
