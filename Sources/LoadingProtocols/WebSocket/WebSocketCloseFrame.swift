/// The content of a close frame (RFC 6455 §5.5.1, §7.4).
package struct WebSocketCloseFrame: Equatable, Sendable {
    /// Nil if the frame carries no status code, which an application sees as 1005.
    package var code: UInt16?
    /// What an application sees if the frame carries no status code. Never sent.
    package static let noCode: UInt16 = 1005
    /// UTF-8, if a server sent it.
    package var reason: [UInt8]

    /// The largest reason: a control frame has 125 octets, of which the code takes two.
    package static let maximumReasonLength = WebSocketFrameHeader.maximumControlPayload - 2

    package init(code: UInt16? = nil, reason: [UInt8] = []) {
        self.code = code
        self.reason = reason
    }

    /// As much of a reason as fits and is UTF-8, without a character that is cut.
    package static func fitting(_ reason: [UInt8]) -> [UInt8] {
        var parser = Unicode.UTF8.ForwardParser()
        var octets = reason.makeIterator()
        var end = 0
        while case .valid(let character) = parser.parseScalar(from: &octets),
            end + character.count <= maximumReasonLength
        {
            end += character.count
        }
        return Array(reason[..<end])
    }

    /// Reads the payload of a close frame that a server has sent.
    init(payload: [UInt8]) throws(WebSocketFailure) {
        if payload.isEmpty {
            self.init()
            return
        }
        guard payload.count >= 2 else { throw .protocolError(.closeCode) }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard Self.mayBeSent(code) else { throw .protocolError(.closeCode) }
        let reason = Array(payload.dropFirst(2))
        var validator = UTF8Validator()
        guard reason.withUnsafeBytes({ validator.accept($0) }), validator.isComplete else { throw .invalidUTF8 }
        self.init(code: code, reason: reason)
    }

    /// A reason without a code cannot be expressed, so it is dropped.
    var payload: [UInt8] {
        guard let code else { return [] }
        return [UInt8(code >> 8), UInt8(code & 0xFF)] + reason.prefix(Self.maximumReasonLength)
    }

    /// Whether a close frame may carry the code: 1004, 1005, 1006 and 1015 are reserved, 1016 to 2999 are not assigned
    /// (RFC 6455 §7.4.1, §7.4.2), and 3000 to 4999 belong to libraries and applications.
    package static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
