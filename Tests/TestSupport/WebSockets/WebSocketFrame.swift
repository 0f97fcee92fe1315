/// A frame of the WebSocket protocol (RFC 6455 §5.2), valid or not.
///
/// It shares no code with the client, so that the client is not tested against itself.
package struct WebSocketFrame: Sendable, Equatable, CustomStringConvertible {
    /// How the length of the payload is written.
    package enum LengthForm: Sendable {
        case shortest
        case twoOctets
        case eightOctets
    }

    package static let continuation: UInt8 = 0
    package static let text: UInt8 = 1
    package static let binary: UInt8 = 2
    package static let close: UInt8 = 8
    package static let ping: UInt8 = 9
    package static let pong: UInt8 = 10

    package var isFinal = true
    /// RSV1 is 4, RSV2 is 2, RSV3 is 1.
    package var reserved: UInt8 = 0
    package var opcode: UInt8
    package var payload: [UInt8]
    /// The masking key, if the payload is masked on the wire.
    package var maskingKey: [UInt8]?
    package var lengthForm = LengthForm.shortest

    package init(
        _ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0,
        lengthForm: LengthForm = .shortest, maskingKey: [UInt8]? = nil
    ) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.reserved = reserved
        self.lengthForm = lengthForm
        self.maskingKey = maskingKey
    }

    package init(_ opcode: UInt8, _ text: String, isFinal: Bool = true) {
        self.init(opcode, Array(text.utf8), isFinal: isFinal)
    }

    /// A close frame with a code and a reason.
    package static func close(_ code: UInt16, _ reason: [UInt8] = []) -> Self {
        Self(close, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
    }

    package static func close(_ code: UInt16, _ reason: String) -> Self { close(code, Array(reason.utf8)) }

    package var isControl: Bool { opcode & 8 != 0 }

    /// The code of a close frame; nil if it has none.
    package var closeCode: UInt16? {
        opcode == Self.close && payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
    }

    package var closeReason: [UInt8] { Array(payload.dropFirst(2)) }

    /// The frame as on the wire.
    package var octets: [UInt8] { header + maskedPayload }

    /// The frame with a header that announces more than the payload that follows.
    package func octets(announcing length: Int) -> [UInt8] { header(announcing: length) + maskedPayload }

    package var header: [UInt8] { header(announcing: payload.count) }

    private func header(announcing length: Int) -> [UInt8] {
        let first = (isFinal ? 0x80 : 0) | reserved << 4 | opcode
        let mask: UInt8 = maskingKey == nil ? 0 : 0x80
        let start: [UInt8]
        switch (lengthForm, length) {
        case (.shortest, ..<126): start = [first, mask | UInt8(length)]
        case (.shortest, ..<65_536), (.twoOctets, _): start = [first, mask | 126] + Self.bigEndian(length, count: 2)
        default: start = [first, mask | 127] + Self.bigEndian(length, count: 8)
        }
        return start + (maskingKey ?? [])
    }

    private var maskedPayload: [UInt8] { maskingKey.map { Self.masked(payload, with: $0) } ?? payload }

    private static func bigEndian(_ value: Int, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
    }

    /// The payload exclusive-or the repeated key (RFC 6455 §5.3).
    static func masked(_ payload: [UInt8], with key: [UInt8]) -> [UInt8] {
        payload.withUnsafeBufferPointer { source in
            [UInt8](unsafeUninitializedCapacity: source.count) { target, count in
                let word = (key[0], key[1], key[2], key[3])
                var index = 0
                // Four at a time, because unoptimized tests transfer megabytes.
                while index &+ 4 <= source.count {
                    target[index] = source[index] ^ word.0
                    target[index &+ 1] = source[index &+ 1] ^ word.1
                    target[index &+ 2] = source[index &+ 2] ^ word.2
                    target[index &+ 3] = source[index &+ 3] ^ word.3
                    index &+= 4
                }
                while index < source.count {
                    target[index] = source[index] ^ key[index & 3]
                    index &+= 1
                }
                count = source.count
            }
        }
    }

    package var description: String {
        let name =
            switch opcode {
            case Self.continuation: "continuation"
            case Self.text: "text"
            case Self.binary: "binary"
            case Self.close: "close \(closeCode.map { "\($0)" } ?? "without code")"
            case Self.ping: "ping"
            case Self.pong: "pong"
            default: "opcode \(opcode)"
            }
        return name + (isFinal ? "" : " to be continued") + (reserved == 0 ? "" : " with RSV \(reserved)")
            + ", \(payload.count) octets"
    }
}

/// A whole message.
package enum WebSocketMessage: Sendable, Hashable, CustomStringConvertible {
    /// Octets that need not be UTF-8.
    case text([UInt8])
    case binary([UInt8])

    package static func text(_ text: String) -> Self { .text(Array(text.utf8)) }

    package var payload: [UInt8] {
        switch self {
        case .text(let octets), .binary(let octets): octets
        }
    }

    package var opcode: UInt8 {
        switch self {
        case .text: WebSocketFrame.text
        case .binary: WebSocketFrame.binary
        }
    }

    /// The message in one frame.
    package var frame: WebSocketFrame { WebSocketFrame(opcode, payload) }

    /// The message in frames of a number of octets; at least one frame.
    package func frames(of size: Int) -> [WebSocketFrame] {
        let payload = payload
        let starts = payload.isEmpty ? [0] : Array(stride(from: 0, to: payload.count, by: max(1, size)))
        return starts.enumerated().map { number, start in
            let end = min(start + max(1, size), payload.count)
            return WebSocketFrame(
                number == 0 ? opcode : WebSocketFrame.continuation, Array(payload[start..<end]),
                isFinal: number == starts.count - 1)
        }
    }

    package var description: String {
        let name = if case .text = self { "text" } else { "binary" }
        return payload.count <= 60
            ? "\(name) \(String(reflecting: String(decoding: payload, as: UTF8.self)))"
            : "\(name) of \(payload.count) octets"
    }
}
