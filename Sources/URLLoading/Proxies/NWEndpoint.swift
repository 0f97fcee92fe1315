/// A host and port. The part of Apple's Network framework that proxy configurations need.
@frozen public enum NWEndpoint: Hashable, Sendable {
    /// A host and a port.
    case hostPort(host: Host, port: Port)

    /// A host name or a numeric address.
    public struct Host: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        private let text: String

        /// A host from a name or a numeric address. Not validated: the proxy of an invalid one cannot be reached.
        public init(_ string: String) { text = string }

        public init(stringLiteral value: String) { text = value }

        public var description: String { text }
    }

    /// A port number.
    public struct Port: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
        /// The number.
        public let rawValue: UInt16

        /// Never nil: every 16-bit number is valid.
        public init?(rawValue: UInt16) { self.rawValue = rawValue }

        /// A port from decimal text; nil if it is not a 16-bit number.
        public init?(_ service: String) {
            guard let number = UInt16(service) else { return nil }
            rawValue = number
        }

        public init(integerLiteral value: UInt16) { rawValue = value }

        public var description: String { String(rawValue) }
    }
}
