/// Why a stream or a connection ends, as the peers report it to each other (RFC 9114 §8.1, RFC 9204 §6). Unknown codes
/// are kept.
package struct HTTP3ErrorCode: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static let noError = HTTP3ErrorCode(rawValue: 0x100)
    package static let generalProtocolError = HTTP3ErrorCode(rawValue: 0x101)
    package static let internalError = HTTP3ErrorCode(rawValue: 0x102)
    package static let streamCreationError = HTTP3ErrorCode(rawValue: 0x103)
    package static let closedCriticalStream = HTTP3ErrorCode(rawValue: 0x104)
    package static let frameUnexpected = HTTP3ErrorCode(rawValue: 0x105)
    package static let frameError = HTTP3ErrorCode(rawValue: 0x106)
    package static let excessiveLoad = HTTP3ErrorCode(rawValue: 0x107)
    package static let idError = HTTP3ErrorCode(rawValue: 0x108)
    package static let settingsError = HTTP3ErrorCode(rawValue: 0x109)
    package static let missingSettings = HTTP3ErrorCode(rawValue: 0x10A)
    package static let requestRejected = HTTP3ErrorCode(rawValue: 0x10B)
    package static let requestCancelled = HTTP3ErrorCode(rawValue: 0x10C)
    package static let requestIncomplete = HTTP3ErrorCode(rawValue: 0x10D)
    package static let messageError = HTTP3ErrorCode(rawValue: 0x10E)
    package static let connectError = HTTP3ErrorCode(rawValue: 0x10F)
    package static let versionFallback = HTTP3ErrorCode(rawValue: 0x110)
    package static let decompressionFailed = HTTP3ErrorCode(rawValue: 0x200)
    package static let encoderStreamError = HTTP3ErrorCode(rawValue: 0x201)
    package static let decoderStreamError = HTTP3ErrorCode(rawValue: 0x202)
}
