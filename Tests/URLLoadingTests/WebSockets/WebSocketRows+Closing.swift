import TestSupport

extension WebSocketRow {
    /// Close frames that the server sends first (RFC 6455 §5.5.1, §7.4): WS-11.
    static let closing: [WebSocketRow] = {
        let close = WebSocketFrame.close
        let before = WebSocketMessage.text("before")
        var rows: [WebSocketRow] = [
            WebSocketRow("close without code", [WebSocketFrame(close)], .closes(nil)),
            WebSocketRow("close without code, octet by octet", [WebSocketFrame(close)], .closes(nil)).octetByOctet,
            WebSocketRow(
                "close without code after a message", [before.frame, WebSocketFrame(close)],
                .closes(nil, after: [before])),
            WebSocketRow("close of one octet", [WebSocketFrame(close, [3])], .fails(1002)),
            WebSocketRow(
                "close, not final", [WebSocketFrame(close, [3, 0xE8], isFinal: false)], .fails(1002)),
            WebSocketRow(
                "close of 126 octets", [.close(1000, ascii(124))], .fails(1002)),
            WebSocketRow("close of 1,000 octets", [.close(1000, ascii(998))], .fails(1002)),
            // What was begun is dropped.
            WebSocketRow(
                "close within a message", [.begin(WebSocketFrame.text, [0x61]), .close(1000)], .closes(1000)),
            WebSocketRow(
                "close within a character", [.begin(WebSocketFrame.text, [0xF0, 0x9F]), .close(1001)], .closes(1001)),
        ]
        for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
            as [UInt16]
        {
            rows.append(WebSocketRow("close \(code)", [.close(code)], .closes(code)))
            let reason = Array("because of \(code)".utf8)
            rows.append(
                WebSocketRow(
                    "close \(code) with a reason, after a message", [before.frame, .close(code, reason)],
                    .closes(code, reason: reason, after: [before])))
        }
        for code in [
            0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 1999, 2000, 2999, 5000, 65_535,
        ] as [UInt16] {
            rows.append(WebSocketRow("close \(code), which must not be sent", [.close(code)], .fails(1002)))
            rows.append(
                WebSocketRow(
                    "close \(code) with a reason after a message", [before.frame, .close(code, "reason")],
                    .fails(1002, after: [before])))
        }
        for count in [1, 2, 121, 122, 123] {
            rows.append(
                WebSocketRow(
                    "close with a reason of \(count)", [.close(1000, ascii(count))],
                    .closes(1000, reason: ascii(count))))
        }
        for reason in ["κόσμε", "💩", "\u{0}", "\u{FFFF}"] {
            rows.append(
                WebSocketRow(
                    "close with the reason \(reason.debugDescription)", [.close(1000, reason)],
                    .closes(1000, reason: Array(reason.utf8))
                ).octetByOctet)
        }
        for (name, octets) in invalidSequences where octets[0] < 0xC0 || octets.count > 1 && octets[1] != 0x20 {
            rows.append(WebSocketRow("close, reason with \(name)", [.close(1000, octets)], .fails(1007)))
        }
        rows.append(WebSocketRow("close, half a character as reason", [.close(1000, [0xC3])], .fails(1007)))
        return rows
    }()

    /// What follows a close frame has no meaning (RFC 6455 §1.4).
    static let afterClose: [WebSocketRow] = {
        let before = WebSocketMessage.text("before")
        let late: [(String, [UInt8])] = [
            ("a message", WebSocketMessage.text("late").frame.octets),
            ("a ping", WebSocketFrame(WebSocketFrame.ping, "late").octets),
            ("a pong", WebSocketFrame(WebSocketFrame.pong).octets),
            ("the same", WebSocketFrame.close(1000).octets), ("another close", WebSocketFrame.close(1001, "2").octets),
            ("an invalid frame", [0xFF, 0xFF]), ("half a frame", [0x81]),
            ("a megabyte", WebSocketMessage.binary(.pattern(count: 1 << 20)).frame.octets),
        ]
        return late.flatMap { name, octets in
            [
                WebSocketRow("close, then \(name)", WebSocketFrame.close(1000).octets + octets, .closes(1000)),
                WebSocketRow(
                    "message, close 3000, then \(name)",
                    before.frame.octets + WebSocketFrame.close(3000, "r").octets + octets,
                    .closes(3000, reason: [0x72], after: [before])),
            ]
        }
    }()

    /// Sizes of messages and fragments, and the limit: WS-8.
    static let limits: [WebSocketRow] = {
        var rows: [WebSocketRow] = []
        // The default limit.
        let megabyte = 1 << 20
        let largest = WebSocketMessage.binary(.pattern(count: megabyte))
        rows.append(WebSocketRow("1 MiB", [largest.frame], .echoes([largest])))
        for size in [1_024, 4_096, 16_384, 65_536, 262_144, 524_288] {
            rows.append(WebSocketRow("1 MiB in fragments of \(size)", largest.frames(of: size), .echoes([largest])))
        }
        let text = WebSocketMessage.text(ascii(megabyte))
        rows.append(WebSocketRow("1 MiB of text", [text.frame], .echoes([text])))
        rows.append(WebSocketRow("1 MiB of text in fragments", text.frames(of: 65_537), .echoes([text])))
        // The header says enough.
        let announced = WebSocketFrame(WebSocketFrame.binary, [1])
        rows.append(
            WebSocketRow("1 MiB and an octet, announced", announced.octets(announcing: megabyte + 1), .fails(1009)))
        rows.append(
            WebSocketRow(
                "1 MiB and an octet in fragments",
                largest.frames(of: 65_536).map { WebSocketFrame($0.opcode, $0.payload, isFinal: false) }
                    + [WebSocketFrame(0, [1])], .fails(1009)))
        for limit in [1, 10, 125, 126, 65_535, 65_536, 100_000] {
            let whole = WebSocketMessage.binary(.pattern(count: limit))
            rows.append(WebSocketRow("limit \(limit), reached", [whole.frame], limit: limit, .echoes([whole])))
            rows.append(
                WebSocketRow(
                    "limit \(limit), reached twice in fragments", whole.frames(of: max(1, limit / 3)) + [whole.frame],
                    limit: limit, .echoes([whole, whole])))
            let tooLong = WebSocketMessage.text(ascii(limit + 1))
            rows.append(WebSocketRow("limit \(limit), exceeded", [tooLong.frame], limit: limit, .fails(1009)))
            rows.append(
                WebSocketRow(
                    "limit \(limit), exceeded by the last fragment", tooLong.frames(of: limit), limit: limit,
                    .fails(1009)))
            rows.append(
                WebSocketRow(
                    "limit \(limit), exceeded by a fragment that is not the last",
                    [whole.frame, .begin(WebSocketFrame.binary, []), .begin(0, whole.payload), .begin(0, [1])],
                    limit: limit, .fails(1009, after: [whole])))
        }
        // Control frames do not count.
        let small = WebSocketMessage.text("12345")
        rows.append(
            WebSocketRow(
                "limit 5, with larger pings",
                small.frames(of: 2).flatMap { [WebSocketFrame(WebSocketFrame.ping, ascii(125)), $0] },
                limit: 5, .echoes([small], pings: [[UInt8]](repeating: ascii(125), count: 3))))
        // A raised limit.
        let large = WebSocketMessage.binary(.pattern(count: 3 * megabyte))
        rows.append(WebSocketRow("3 MiB", [large.frame], limit: 4 * megabyte, .echoes([large])))
        rows.append(
            WebSocketRow("3 MiB in fragments", large.frames(of: 100_000), limit: 3 * megabyte, .echoes([large])))
        // Many messages.
        for size in [0, 1, 16, 125, 126, 1_000] {
            let messages = (0..<100).map { number in WebSocketMessage.text(ascii(size + number % 2)) }
            let frames = messages.map(\.frame)
            rows.append(WebSocketRow("100 messages of \(size) octets", frames, .echoes(messages)))
            rows.append(WebSocketRow("100 messages of \(size) octets", frames, inPiecesOf: 997, .echoes(messages)))
        }
        return rows
    }()

    static let all = [
        framing, invalidHeaders, reservedBits, reservedOpcodes, control, fragments, fragmentOrder, validText,
        invalidText, invalidFragments, closing, afterClose, limits,
    ]
}
