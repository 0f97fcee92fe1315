/// Why a WebSocket connection is failed by this end (RFC 6455 §7.1.7).
package enum WebSocketFailure: Error, Equatable, Sendable {
    package enum Violation: Equatable, Sendable {
        case reservedBits
        case unknownOpcode
        case maskedByServer
        case fragmentedControlFrame
        case longControlFrame
        /// The length is not written in the fewest octets.
        case paddedLength
        case lengthOutOfRange
        /// A continuation without a message, or a new message within another.
        case fragmentOrder
        case closeCode
        /// The compressed data is not what RFC 7692 allows.
        case compression
    }

    case protocolError(Violation)
    case invalidUTF8
    case messageTooBig
    case outOfMemory

    /// The status code of the close frame that is sent.
    package var closeCode: UInt16 {
        switch self {
        case .protocolError: 1002
        case .invalidUTF8: 1007
        case .messageTooBig: 1009
        case .outOfMemory: 1011
        }
    }
}
