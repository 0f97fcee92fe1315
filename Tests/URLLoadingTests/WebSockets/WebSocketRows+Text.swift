import TestSupport

extension WebSocketRow {
    /// Text that is UTF-8 (RFC 6455 §5.6, §8.1; RFC 3629): WS-7.
    static let validText: [WebSocketRow] = {
        // The first and the last character of each length, and those beside the surrogates.
        let scalars: [UInt32] = [
            0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0x1_0000, 0xF_FFFD, 0x10_FFFD,
        ]
        // Noncharacters are characters here.
        let noncharacters = (UInt32(0)...16).flatMap { [$0 << 16 | 0xFFFE, $0 << 16 | 0xFFFF] }
        let characters = (scalars + noncharacters).compactMap(Unicode.Scalar.init).map { scalar in
            ("U+\(String(scalar.value, radix: 16))", Array(String(Character(scalar)).utf8))
        }
        var rows = characters.map { name, octets in
            let message = WebSocketMessage.text(octets)
            return WebSocketRow(name, [message.frame], .echoes([message]))
        }
        let texts = ["κόσμε", "Hello-µ@ßöäüàá-UTF-8!!", "日本語テキスト", "🇩🇪👨‍👩‍👧‍👦", "e\u{301}\u{200D}", "\u{FEFF}with a mark"]
        for text in texts {
            let message = WebSocketMessage.text(text)
            rows.append(WebSocketRow(text, [message.frame], .echoes([message])))
            rows.append(WebSocketRow(text, [message.frame], inPiecesOf: 1, .echoes([message])))
            rows.append(WebSocketRow(text + ", in fragments of one octet", message.frames(of: 1), .echoes([message])))
            rows.append(
                WebSocketRow(
                    text + ", pings within characters",
                    message.frames(of: 1).flatMap { [WebSocketFrame(WebSocketFrame.ping), $0] },
                    .echoes([message], pings: [[UInt8]](repeating: [], count: message.payload.count))))
        }
        for scalar in [0x7FF, 0xFFFD, 0x10_FFFF].compactMap({ Unicode.Scalar($0 as UInt32) }) {
            let octets = Array(String(Character(scalar)).utf8)
            for cut in 1..<octets.count {
                let message = WebSocketMessage.text(octets)
                rows.append(
                    WebSocketRow(
                        "U+\(String(scalar.value, radix: 16)) in fragments, cut after \(cut)", message.frames(of: cut),
                        .echoes([message])))
            }
        }
        // Octets that are no UTF-8 are data in a binary message.
        let data = WebSocketMessage.binary([0xFF, 0xFE, 0xC0, 0x80, 0xED, 0xA0, 0x80])
        rows.append(WebSocketRow("no UTF-8 in a binary message", [data.frame], .echoes([data])))
        rows.append(WebSocketRow("no UTF-8 in binary fragments", data.frames(of: 1), .echoes([data])))
        return rows
    }()

    /// Octets that are not UTF-8, with the name of the fault. The last octet shows the fault.
    static let invalidSequences: [(String, [UInt8])] = {
        var sequences: [(String, [UInt8])] = [
            // Continuation octets without a start.
            ("continuation 80", [0x80]), ("continuation BF", [0xBF]),
            ("two continuations", [0xC3, 0xA9, 0x80]), ("three continuations", [0xE2, 0x82, 0xAC, 0xBF]),
            ("a fifth octet", [0xF0, 0x9F, 0x92, 0xA9, 0x80]),
            // Longer than needed.
            ("overlong / in three", [0xE0, 0x80]), ("overlong / in four", [0xF0, 0x80]),
            ("overlong U+7FF", [0xE0, 0x9F]), ("overlong U+FFFF", [0xF0, 0x8F]),
            // Surrogates, alone and in pairs.
            ("surrogate D800", [0xED, 0xA0]), ("surrogate DB7F", [0xED, 0xAD]), ("surrogate DB80", [0xED, 0xAE]),
            ("surrogate DBFF", [0xED, 0xAF]), ("surrogate DC00", [0xED, 0xB0]), ("surrogate DF80", [0xED, 0xBE]),
            ("surrogate DFFF", [0xED, 0xBF]),
            // Above the last character.
            ("above U+10FFFF", [0xF4, 0x90]), ("U+13FFFF", [0xF4, 0xBF]),
            // Characters that end early.
            ("two of three octets and ASCII", [0xE2, 0x82, 0x41]),
            ("three of four octets and ASCII", [0xF0, 0x9F, 0x92, 0x41]),
            ("two of four octets and a start", [0xF0, 0x9F, 0xC3]), ("one of three octets and a start", [0xE2, 0xE2]),
        ]
        for start in UInt8(0xC0)...0xFF {
            let isStart = (0xC2...0xF4).contains(start)
            sequences.append(
                (
                    "start \(String(start, radix: 16))" + (isStart ? " and a space" : ""),
                    isStart ? [start, 0x20] : [start]
                ))
        }
        return sequences
    }()

    /// Text that is not UTF-8 (RFC 6455 §8.1), which fails as soon as it shows.
    static let invalidText: [WebSocketRow] = invalidSequences.flatMap { name, octets -> [WebSocketRow] in
        let start = Array("κόσμε ".utf8)
        let (text, after) = (start + octets, Array(" and more".utf8))
        let early = WebSocketFrame(WebSocketFrame.text, text)
        return [
            WebSocketRow(name, [WebSocketFrame(WebSocketFrame.text, text + after)], .fails(1007)),
            // Neither the frame nor the message ends.
            WebSocketRow(
                name + ", of which the frame's rest is not sent", early.octets(announcing: text.count + 100),
                inPiecesOf: octets.count % 2 == 0 ? 1 : nil, .fails(1007)),
        ]
    }

    /// The same over fragments.
    static let invalidFragments: [WebSocketRow] = {
        let text = WebSocketFrame.text
        var rows: [WebSocketRow] = []
        for (name, octets) in invalidSequences where octets.count > 1 && octets[1] != 0x20 {
            let fragments = WebSocketMessage.text(Array("ab".utf8) + octets).frames(of: 1).map { frame in
                // None is the last.
                WebSocketFrame(frame.opcode, frame.payload, isFinal: false)
            }
            rows.append(WebSocketRow(name + ", in fragments of one octet", fragments, .fails(1007)))
            rows.append(
                WebSocketRow(
                    name + ", with pings between",
                    fragments.flatMap { [$0, WebSocketFrame(WebSocketFrame.ping, "p")] }, .fails(1007)))
        }
        // Characters that the end of the message cuts.
        let before = WebSocketMessage.text("before")
        for character in ["é", "€", "💩"] {
            let octets = Array(character.utf8)
            for count in 1..<octets.count {
                let cut = Array("a".utf8) + octets.prefix(count)
                rows.append(
                    WebSocketRow(
                        "\(count) of \(octets.count) octets at the end",
                        [before.frame, WebSocketFrame(text, cut)], .fails(1007, after: [before])))
                rows.append(
                    WebSocketRow(
                        "\(count) of \(octets.count) octets at the end of two fragments",
                        [.begin(text, []), WebSocketFrame(0, cut)], .fails(1007)))
                rows.append(
                    WebSocketRow(
                        "\(count) of \(octets.count) octets, then an empty last fragment",
                        [.begin(text, cut), WebSocketFrame(0)], .fails(1007)))
            }
        }
        return rows
    }()
}
