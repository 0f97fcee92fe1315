extension URLSessionWebSocketTask {
    /// Why a WebSocket was closed (RFC 6455 §7.4).
    ///
    /// A value rather than an enumeration, since applications may use codes of their own, 3000 to 4999.
    public struct CloseCode: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int

        /// Any code that fits the two bytes it has on the wire; nil for other numbers.
        public init?(rawValue: Int) {
            guard 0...0xFFFF ~= rawValue else { return nil }
            self.rawValue = rawValue
        }

        private init(known: Int) { rawValue = known }

        /// Not closed yet.
        public static let invalid = CloseCode(known: 0)
        /// The purpose is fulfilled.
        public static let normalClosure = CloseCode(known: 1000)
        /// The server goes down or the page is left.
        public static let goingAway = CloseCode(known: 1001)
        /// The other end broke the protocol.
        public static let protocolError = CloseCode(known: 1002)
        /// A kind of data that is not accepted.
        public static let unsupportedData = CloseCode(known: 1003)
        /// The close frame carried no code. Never sent.
        public static let noStatusReceived = CloseCode(known: 1005)
        /// The connection ended without a close frame. Never sent.
        public static let abnormalClosure = CloseCode(known: 1006)
        /// Data that does not fit its type, such as text that is not UTF-8.
        public static let invalidFramePayloadData = CloseCode(known: 1007)
        /// A message against the rules of the application.
        public static let policyViolation = CloseCode(known: 1008)
        /// A message larger than is accepted.
        public static let messageTooBig = CloseCode(known: 1009)
        /// The server lacks an extension the client needs.
        public static let mandatoryExtensionMissing = CloseCode(known: 1010)
        /// The server cannot go on.
        public static let internalServerError = CloseCode(known: 1011)
        /// The TLS handshake failed. Never sent.
        public static let tlsHandshakeFailure = CloseCode(known: 1015)
    }
}
