/// One end of a connection by name or address and port: the part of Apple's Network framework that proxies need.
public enum NWEndpoint: Hashable, Sendable {
    /// A host and a port on it.
    case hostPort(host: Host, port: Port)

    /// A name or a numeric address.
    public struct Host: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        private let text: String

        public init(_ string: String) { text = string }

        public init(stringLiteral value: String) { text = value }

        public var description: String { text }
    }

    /// A port by its number.
    public struct Port: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
        public let rawValue: UInt16

        /// Never nil: every number of 16 bits is a port.
        public init?(rawValue: UInt16) { self.rawValue = rawValue }

        /// A port from a number in text, or nil.
        public init?(_ service: String) {
            guard let number = UInt16(service) else { return nil }
            rawValue = number
        }

        public init(integerLiteral value: UInt16) { rawValue = value }

        public var description: String { String(rawValue) }
    }
}
