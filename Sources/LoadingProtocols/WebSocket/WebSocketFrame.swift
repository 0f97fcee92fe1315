internal import CLoadingOctets

/// The kinds of frames (RFC 6455 §5.2).
package enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The header of a frame: two octets, the extended length, and the masking key (RFC 6455 §5.2).
struct WebSocketFrameHeader: Equatable {
    /// The largest payload of a control frame (RFC 6455 §5.5).
    static let maximumControlPayload = 125
    /// The longest header: with a length of eight octets and a masking key.
    static let maximumLength = 14

    var isFinal = true
    /// RSV1: the message is compressed (RFC 7692 §6).
    var isCompressed = false
    var opcode: WebSocketOpcode
    var payloadLength: Int

    /// Reads a header that a server has sent. Nil if `octets` ends before the header does.
    static func read(_ octets: UnsafeRawBufferPointer) throws(WebSocketFailure) -> (header: Self, length: Int)? {
        guard octets.count >= 2 else { return nil }
        let (first, second) = (octets[0], octets[1])
        guard first & 0x30 == 0 else { throw .protocolError(.reservedBits) }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { throw .protocolError(.unknownOpcode) }
        guard second & 0x80 == 0 else { throw .protocolError(.maskedByServer) }
        var header = Self(
            isFinal: first & 0x80 != 0, isCompressed: first & 0x40 != 0, opcode: opcode,
            payloadLength: Int(second & 0x7F))
        if opcode.isControl {
            guard header.isFinal else { throw .protocolError(.fragmentedControlFrame) }
            guard header.payloadLength <= maximumControlPayload else { throw .protocolError(.longControlFrame) }
        }
        switch header.payloadLength {
        case 126:
            guard octets.count >= 4 else { return nil }
            header.payloadLength = Int(octets.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian)
            guard header.payloadLength > 125 else { throw .protocolError(.paddedLength) }
            return (header, 4)
        case 127:
            guard octets.count >= 10 else { return nil }
            let length = octets.loadUnaligned(fromByteOffset: 2, as: UInt64.self).bigEndian
            guard let length = Int(exactly: length) else { throw .protocolError(.lengthOutOfRange) }
            guard length > 0xFFFF else { throw .protocolError(.paddedLength) }
            header.payloadLength = length
            return (header, 10)
        default:
            return (header, 2)
        }
    }

    /// Appends the header of a frame that a client sends.
    func write(maskingKey: UInt32, to output: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: Self.maximumLength, alignment: 1) { room in
            let count = write(maskingKey: maskingKey, into: room)
            output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<count]))
        }
    }

    /// Writes the header of a frame that a client sends, and returns its length. `room` has at least the maximum
    /// length.
    func write(maskingKey: UInt32, into room: UnsafeMutableRawBufferPointer) -> Int {
        var length = UInt64(truncatingIfNeeded: payloadLength)
        var (extended, short) = (0, UInt8(truncatingIfNeeded: length))
        if length > 0xFFFF {
            (extended, short) = (8, 127)
        } else if length > 125 {
            (extended, short) = (2, 126)
            // The last two of eight octets.
            length <<= 48
        }
        room[0] = (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue
        room[1] = 0x80 | short
        room.storeBytes(of: length.bigEndian, toByteOffset: 2, as: UInt64.self)
        room.storeBytes(of: maskingKey, toByteOffset: 2 + extended, as: UInt32.self)
        return 2 + extended + 4
    }
}

/// The masking of payloads (RFC 6455 §5.3).
enum WebSocketMask {
    /// The longest payload, in octets, whose frame is made in one piece.
    private static let shortPayload = 256

    /// Appends a whole frame.
    static func append(
        _ payload: UnsafeRawBufferPointer, after header: WebSocketFrameHeader, key: UInt32, to output: inout [UInt8]
    ) {
        if payload.count <= shortPayload {
            withUnsafeTemporaryAllocation(
                byteCount: WebSocketFrameHeader.maximumLength + shortPayload, alignment: 1
            ) { room in
                let start = header.write(maskingKey: key, into: room)
                let target = UnsafeMutableRawBufferPointer(rebasing: room[start..<(start + payload.count)])
                mask(payload, key: key, offset: 0, into: target)
                output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<(start + payload.count)]))
            }
            return
        }
        let most = output.count + WebSocketFrameHeader.maximumLength + payload.count
        // Doubled at least, so that many frames do not move the memory each time.
        if most > output.capacity { output.reserveCapacity(max(most, 2 * output.capacity)) }
        header.write(maskingKey: key, to: &output)
        append(payload, key: key, offset: 0, to: &output)
    }

    /// Appends `payload`, masked with `key` in memory order. `offset` is the position of its first octet in the frame's
    /// payload.
    static func append(_ payload: UnsafeRawBufferPointer, key: UInt32, offset: Int, to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: payload)
        output.withUnsafeMutableBytes { octets in
            mask(payload, key: key, offset: offset, into: UnsafeMutableRawBufferPointer(rebasing: octets[start...]))
        }
    }

    /// Masks `payload` into `target`, which has the same length.
    private static func mask(
        _ payload: UnsafeRawBufferPointer, key: UInt32, offset: Int, into target: UnsafeMutableRawBufferPointer
    ) {
        // The key, turned so that its first octet belongs to the first octet here.
        let turned = UInt32(littleEndian: key)
        let shift = UInt32(offset & 3) * 8
        let word = shift == 0 ? turned : turned &>> shift | turned &<< (32 - shift)
        let wide = UInt64(word) | UInt64(word) &<< 32
        clo_mask(target.baseAddress, payload.baseAddress, target.count, wide.littleEndian)
    }
}
