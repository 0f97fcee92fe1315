/// How much a proxy may say about a tunnel.
package struct ConnectTunnelLimits: Sendable, Equatable {
    package var response: HTTP1Limits
    /// Bytes after the head of a 407 that are read away to keep its connection.
    package var maximumChallengeLength: Int

    package init(response: HTTP1Limits = HTTP1Limits(), maximumChallengeLength: Int = 64 << 10) {
        self.response = response
        self.maximumChallengeLength = max(maximumChallengeLength, 0)
    }
}
