/// TLS. The part of Apple's Network framework that proxy configurations need.
@frozen public enum NWProtocolTLS {
    /// Options of TLS connections. There are none to set: the session's TLS settings apply to proxies too.
    public struct Options: Sendable {
        /// Creates options.
        public init() {}
    }
}
