import TestSupport

extension WebSocketRow {
    /// Each length class, at its edges (RFC 6455 §5.2), as text and binary (§5.6), in one piece and in many.
    static let framing: [WebSocketRow] = {
        let sizes = [
            0, 1, 2, 7, 8, 9, 123, 124, 125, 126, 127, 128, 129, 255, 256, 257, 1_000, 4_095, 4_096, 16_384, 32_767,
            32_768, 65_534, 65_535, 65_536, 65_537, 100_000, 262_144,
        ]
        return sizes.flatMap { size -> [WebSocketRow] in
            let messages: [WebSocketMessage] = [.text(ascii(size)), .binary(.pattern(count: size))]
            return messages.flatMap { message -> [WebSocketRow] in
                let row = WebSocketRow("\(message)", [message.frame], .echoes([message]))
                // Cut in the header too: two octets and the extended length are in different pieces.
                return [row] + (size <= 257 ? [row.octetByOctet] : size <= 65_537 ? [row.in(3), row.in(1_460)] : [])
            }
        }
    }()

    /// Lengths that are not in their shortest form, or out of range (RFC 6455 §5.2), and masked frames (§5.1).
    static let invalidHeaders: [WebSocketRow] = {
        let before = WebSocketMessage.text("before")
        var rows: [WebSocketRow] = []
        for opcode in [WebSocketFrame.text, WebSocketFrame.binary] {
            for size in [0, 1, 125] {
                for form in [WebSocketFrame.LengthForm.twoOctets, .eightOctets] {
                    rows.append(
                        WebSocketRow(
                            "opcode \(opcode), \(size) octets, length as \(form)",
                            [before.frame, WebSocketFrame(opcode, ascii(size), lengthForm: form)],
                            .fails(1002, after: [before])))
                }
            }
            for size in [126, 65_535] {
                rows.append(
                    WebSocketRow(
                        "opcode \(opcode), \(size) octets, length in eight octets",
                        [WebSocketFrame(opcode, ascii(size), lengthForm: .eightOctets)], .fails(1002)))
            }
            rows.append(
                WebSocketRow(
                    "opcode \(opcode), length with the most significant bit",
                    [0x80 | opcode, 127, 0x80, 0, 0, 0, 0, 0, 0, 1, 0x61], .fails(1002)))
            rows.append(
                WebSocketRow(
                    "opcode \(opcode), length 2^64 - 1",
                    [0x80 | opcode, 127] + [UInt8](repeating: 0xFF, count: 8), .fails(1002)))
            // A length that no limit allows.
            rows.append(
                WebSocketRow(
                    "opcode \(opcode), length 2^63 - 1",
                    [0x80 | opcode, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7), .fails(1009)))
        }
        for opcode in [
            WebSocketFrame.text, WebSocketFrame.binary, WebSocketFrame.ping, WebSocketFrame.pong, WebSocketFrame.close,
        ] {
            for key in [[UInt8](repeating: 0, count: 4), [1, 2, 3, 4]] {
                for payload in [[], Array("ab".utf8)] where opcode != WebSocketFrame.close || payload.isEmpty {
                    rows.append(
                        WebSocketRow(
                            "opcode \(opcode), \(payload.count) octets, masked with \(key)",
                            [before.frame, WebSocketFrame(opcode, payload, maskingKey: key)],
                            .fails(1002, after: [before])))
                }
            }
        }
        return rows
    }()

    /// Reserved bits (RFC 6455 §5.2), none of which an extension has been negotiated for: WS-14, WS-15.
    static let reservedBits: [WebSocketRow] = (UInt8(1)...7).flatMap { bits -> [WebSocketRow] in
        let before = WebSocketMessage.text("before")
        let kinds: [(UInt8, [UInt8])] = [
            (WebSocketFrame.text, Array("text".utf8)), (WebSocketFrame.text, []), (WebSocketFrame.binary, [1, 2, 3]),
            (WebSocketFrame.ping, []), (WebSocketFrame.ping, [1]), (WebSocketFrame.pong, [1]),
            (WebSocketFrame.close, [3, 0xE8]),
        ]
        let complete = kinds.map { opcode, payload in
            WebSocketRow(
                "RSV \(bits), opcode \(opcode), \(payload.count) octets",
                [before.frame, WebSocketFrame(opcode, payload, reserved: bits)], .fails(1002, after: [before]))
        }
        return complete + [
            WebSocketRow(
                "RSV \(bits), first frame", [WebSocketFrame(WebSocketFrame.text, [0x61], reserved: bits)], .fails(1002)),
            WebSocketRow(
                "RSV \(bits), in a continuation",
                [.begin(WebSocketFrame.text, [0x61]), WebSocketFrame(0, [0x62], reserved: bits)], .fails(1002)),
            WebSocketRow(
                "RSV \(bits), ping within a message",
                [.begin(WebSocketFrame.text, [0x61]), WebSocketFrame(WebSocketFrame.ping, [], reserved: bits)],
                .fails(1002)),
            // The first octet says enough.
            WebSocketRow("RSV \(bits), header alone", [0x81 | bits << 4, 0x7D], .fails(1002)),
        ]
    }

    /// Opcodes without a meaning (RFC 6455 §5.2): WS-14.
    static let reservedOpcodes: [WebSocketRow] = ([3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8]).flatMap {
        opcode -> [WebSocketRow] in
        let before = WebSocketMessage.text("before")
        return [
            WebSocketRow("opcode \(opcode), first and empty", [WebSocketFrame(opcode)], .fails(1002)),
            WebSocketRow(
                "opcode \(opcode) with octets after a message",
                [before.frame, WebSocketFrame(opcode, "payload")], .fails(1002, after: [before])),
            WebSocketRow(
                "opcode \(opcode), not final", [WebSocketFrame(opcode, [], isFinal: false)], .fails(1002)),
            WebSocketRow(
                "opcode \(opcode) between fragments",
                [.begin(WebSocketFrame.text, [0x61]), WebSocketFrame(opcode), WebSocketFrame(0, [0x62])],
                .fails(1002)),
            WebSocketRow(
                "opcode \(opcode) after a ping, octet by octet",
                [WebSocketFrame(WebSocketFrame.ping), WebSocketFrame(opcode, "x"), before.frame], .fails(1002)
            ).octetByOctet,
        ]
    }

    /// The same in pieces of a number of octets.
    func `in`(_ size: Int) -> Self {
        var copy = self
        copy.pieceSize = size
        return copy
    }
}
