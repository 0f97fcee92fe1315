extension URLSessionWebSocketTask {
    /// The close code of a WebSocket (RFC 6455 §7.4).
    ///
    /// Codes without a name here, such as 3000 to 4999 of libraries and applications, are `.other`. Codes are equal if
    /// their numbers are. A `switch` needs a `default`, as on Apple's platforms.
    @frozen public enum CloseCode: RawRepresentable, Hashable, Sendable {
        /// Not closed yet.
        case invalid
        /// The purpose is fulfilled.
        case normalClosure
        /// The endpoint goes away, such as a server that shuts down.
        case goingAway
        /// The peer violated the protocol.
        case protocolError
        /// The data type is not supported.
        case unsupportedData
        /// The close frame carried no code. Never sent.
        case noStatusReceived
        /// The connection ended without a close frame. Never sent.
        case abnormalClosure
        /// The data is inconsistent with its type, such as text that is not UTF-8.
        case invalidFramePayloadData
        /// The message violates the application's policy.
        case policyViolation
        /// The message is too big.
        case messageTooBig
        /// The server does not support a required extension.
        case mandatoryExtensionMissing
        /// The server has an internal error.
        case internalServerError
        /// The TLS handshake failed. Never sent.
        case tlsHandshakeFailure
        /// Another code. Not in Apple's API, whose type can hold each number without a name.
        case other(UInt16)

        private static let named: [CloseCode] = [
            .invalid, .normalClosure, .goingAway, .protocolError, .unsupportedData, .noStatusReceived, .abnormalClosure,
            .invalidFramePayloadData, .policyViolation, .messageTooBig, .mandatoryExtensionMissing,
            .internalServerError, .tlsHandshakeFailure,
        ]

        /// Nil for numbers that are not 16-bit.
        public init?(rawValue: Int) {
            guard let number = UInt16(exactly: rawValue) else { return nil }
            self = Self.named.first { $0.rawValue == rawValue } ?? .other(number)
        }

        public var rawValue: Int {
            switch self {
            case .invalid: 0
            case .normalClosure: 1000
            case .goingAway: 1001
            case .protocolError: 1002
            case .unsupportedData: 1003
            case .noStatusReceived: 1005
            case .abnormalClosure: 1006
            case .invalidFramePayloadData: 1007
            case .policyViolation: 1008
            case .messageTooBig: 1009
            case .mandatoryExtensionMissing: 1010
            case .internalServerError: 1011
            case .tlsHandshakeFailure: 1015
            case .other(let number): Int(number)
            }
        }

        public static func == (left: CloseCode, right: CloseCode) -> Bool { left.rawValue == right.rawValue }
        public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
    }
}
