/// TLS: the part of Apple's Network framework that proxies need.
public enum NWProtocolTLS {
    /// How TLS is spoken. A session's own settings count for its proxies too, so there is nothing to set here.
    public struct Options: Sendable {
        public init() {}
    }
}
