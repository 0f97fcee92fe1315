extension URLSessionWebSocketTask {
    /// The close code of a WebSocket (RFC 6455 §7.4).
    ///
    /// Not an enumeration, because applications can use their own codes, 3000 to 4999.
    public struct CloseCode: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int

        /// Nil for numbers that are not 16-bit.
        public init?(rawValue: Int) {
            guard 0...0xFFFF ~= rawValue else { return nil }
            self.rawValue = rawValue
        }

        private init(known: Int) { rawValue = known }

        /// Not closed yet.
        public static let invalid = CloseCode(known: 0)
        /// The purpose is fulfilled.
        public static let normalClosure = CloseCode(known: 1000)
        /// The endpoint goes away, such as a server that shuts down.
        public static let goingAway = CloseCode(known: 1001)
        /// The peer violated the protocol.
        public static let protocolError = CloseCode(known: 1002)
        /// The data type is not supported.
        public static let unsupportedData = CloseCode(known: 1003)
        /// The close frame carried no code. Never sent.
        public static let noStatusReceived = CloseCode(known: 1005)
        /// The connection ended without a close frame. Never sent.
        public static let abnormalClosure = CloseCode(known: 1006)
        /// The data is inconsistent with its type, such as text that is not UTF-8.
        public static let invalidFramePayloadData = CloseCode(known: 1007)
        /// The message violates the application's policy.
        public static let policyViolation = CloseCode(known: 1008)
        /// The message is too big.
        public static let messageTooBig = CloseCode(known: 1009)
        /// The server does not support a required extension.
        public static let mandatoryExtensionMissing = CloseCode(known: 1010)
        /// The server has an internal error.
        public static let internalServerError = CloseCode(known: 1011)
        /// The TLS handshake failed. Never sent.
        public static let tlsHandshakeFailure = CloseCode(known: 1015)
    }
}
