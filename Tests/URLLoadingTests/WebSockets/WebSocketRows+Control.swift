import TestSupport

extension WebSocketRow {
    /// Pings and pongs (RFC 6455 §5.5.2, §5.5.3): WS-9.
    static let control: [WebSocketRow] = {
        let (ping, pong) = (WebSocketFrame.ping, WebSocketFrame.pong)
        let message = WebSocketMessage.text("message")
        var rows: [WebSocketRow] = []
        let payloads: [[UInt8]] = [
            [], [0], Array("ping".utf8), [0xFF, 0xFE, 0x80, 0], .pattern(count: 8), .pattern(count: 124),
            .pattern(count: 125),
        ]
        for payload in payloads {
            let row = WebSocketRow(
                "ping of \(payload.count) octets \(payload.prefix(4))", [WebSocketFrame(ping, payload)],
                .echoes([], pings: [payload]))
            rows += [row, row.octetByOctet]
            rows.append(
                WebSocketRow(
                    "pong of \(payload.count) octets \(payload.prefix(4)), unsolicited",
                    [WebSocketFrame(pong, payload), message.frame], .echoes([message])))
            rows.append(
                WebSocketRow(
                    "pong and ping of \(payload.count) octets \(payload.prefix(4))",
                    [WebSocketFrame(pong, payload), WebSocketFrame(ping, payload)], .echoes([], pings: [payload])))
            rows.append(
                WebSocketRow(
                    "ping of \(payload.count) octets \(payload.prefix(4)) before and after a message",
                    [WebSocketFrame(ping, payload), message.frame, WebSocketFrame(ping, payload)],
                    .echoes([message], pings: [payload, payload])))
        }
        for size in [126, 127, 1_000, 65_536] {
            for opcode in [ping, pong] {
                rows.append(
                    WebSocketRow(
                        "opcode \(opcode) of \(size) octets", [WebSocketFrame(opcode, ascii(size))], .fails(1002)))
            }
        }
        for opcode in [ping, pong] {
            for form in [WebSocketFrame.LengthForm.twoOctets, .eightOctets] {
                rows.append(
                    WebSocketRow(
                        "opcode \(opcode), length as \(form)",
                        [message.frame, WebSocketFrame(opcode, [1], lengthForm: form)],
                        .fails(1002, after: [message])))
            }
            rows.append(
                WebSocketRow(
                    "opcode \(opcode), not final", [WebSocketFrame(opcode, [1], isFinal: false)], .fails(1002)))
            rows.append(
                WebSocketRow(
                    "opcode \(opcode), not final, with a continuation",
                    [WebSocketFrame(opcode, [1], isFinal: false), WebSocketFrame(0, [2])], .fails(1002)))
            rows.append(
                WebSocketRow(
                    "opcode \(opcode), not final, within a message",
                    [.begin(WebSocketFrame.text, [0x61]), WebSocketFrame(opcode, [1], isFinal: false)], .fails(1002)))
        }
        for count in [2, 10, 100] {
            let pings = (0..<count).map { Array("ping \($0)".utf8) }
            let frames = pings.map { WebSocketFrame(ping, $0) }
            let row = WebSocketRow("\(count) pings", frames, .echoes([], pings: pings))
            rows += [row, count < 100 ? row.octetByOctet : row.in(7)]
            rows.append(
                WebSocketRow(
                    "\(count) pings and a message", frames + [message.frame], .echoes([message], pings: pings)))
            rows.append(
                WebSocketRow(
                    "\(count) pings, a pong after each", frames.flatMap { [$0, WebSocketFrame(pong, $0.payload)] },
                    .echoes([], pings: pings)))
        }
        // A pong that looks like that of the client's own ping answers none of them.
        rows.append(
            WebSocketRow(
                "pongs with numbers",
                (0..<20).map { WebSocketFrame(pong, [0, 0, 0, 0, 0, 0, 0, $0]) } + [message.frame],
                .echoes([message])))
        return rows
    }()

    /// Messages in fragments (RFC 6455 §5.4).
    static let fragments: [WebSocketRow] = {
        let (text, binary) = (WebSocketFrame.text, WebSocketFrame.binary)
        let (ping, pong) = (WebSocketFrame.ping, WebSocketFrame.pong)
        var rows: [WebSocketRow] = []
        for opcode in [text, binary] {
            for count in [2, 3, 10, 100] {
                let parts = (0..<count).map { Array("part \($0) ".utf8) }
                let whole = parts.flatMap { $0 }
                let message: WebSocketMessage = opcode == text ? .text(whole) : .binary(whole)
                let frames = parts.enumerated().map { number, part in
                    WebSocketFrame(number == 0 ? opcode : 0, part, isFinal: number == count - 1)
                }
                let name = "opcode \(opcode) in \(count) fragments"
                let plain = WebSocketRow(name, frames, .echoes([message]))
                rows += [plain, plain.in(count == 100 ? 5 : 1)]
                rows.append(WebSocketRow(name + ", twice", frames + frames, .echoes([message, message])))
                let payload = Array("ping".utf8)
                for (control, name) in [(ping, name + " with pings"), (pong, name + " with pongs")] {
                    let mixed = frames.flatMap { [WebSocketFrame(control, payload), $0] }
                    let pings = control == ping ? [[UInt8]](repeating: payload, count: count) : []
                    let row = WebSocketRow(name, mixed, .echoes([message], pings: pings))
                    rows += [row, row.in(3)]
                }
                let padded =
                    [WebSocketFrame.begin(opcode, [])]
                    + parts.flatMap { [.begin(0, $0), WebSocketFrame.begin(0, [])] } + [WebSocketFrame(0)]
                rows.append(WebSocketRow(name + " between empty ones", padded, .echoes([message])))
            }
            let empty: WebSocketMessage = opcode == text ? .text([]) : .binary([])
            rows.append(
                WebSocketRow(
                    "opcode \(opcode) in three empty fragments",
                    [.begin(opcode, []), .begin(0, []), WebSocketFrame(0)], .echoes([empty])))
            rows.append(
                WebSocketRow(
                    "opcode \(opcode), a large ping within",
                    [.begin(opcode, [0x61]), WebSocketFrame(ping, .pattern(count: 125)), WebSocketFrame(0, [0x62])],
                    .echoes(
                        [opcode == text ? .text("ab") : .binary([0x61, 0x62])], pings: [.pattern(count: 125)])))
        }
        return rows
    }()

    /// Fragments in a wrong order (RFC 6455 §5.4).
    static let fragmentOrder: [WebSocketRow] = {
        let (text, binary) = (WebSocketFrame.text, WebSocketFrame.binary)
        let before = WebSocketMessage.text("before")
        var rows: [WebSocketRow] = []
        for isFinal in [true, false] {
            let name = isFinal ? "final" : "not final"
            for payload in [[], Array("x".utf8)] {
                let continuation = WebSocketFrame(0, payload, isFinal: isFinal)
                rows.append(
                    WebSocketRow(
                        "a continuation of \(payload.count) octets first, \(name)", [continuation], .fails(1002)))
                rows.append(
                    WebSocketRow(
                        "a continuation of \(payload.count) octets after a message, \(name)",
                        [before.frame, continuation], .fails(1002, after: [before])))
            }
            rows.append(
                WebSocketRow(
                    "a continuation after a message of two fragments, \(name)",
                    [.begin(text, [0x61]), WebSocketFrame(0, [0x62]), WebSocketFrame(0, [0x63], isFinal: isFinal)],
                    .fails(1002, after: [.text("ab")])))
            rows.append(
                WebSocketRow(
                    "a continuation after a ping, \(name)",
                    [WebSocketFrame(WebSocketFrame.ping), WebSocketFrame(0, [0x63], isFinal: isFinal)], .fails(1002)))
            for first in [text, binary] {
                for second in [text, binary] {
                    rows.append(
                        WebSocketRow(
                            "opcode \(second) within a message of opcode \(first), \(name)",
                            [.begin(first, [0x61]), WebSocketFrame(second, [0x62], isFinal: isFinal)], .fails(1002)))
                    rows.append(
                        WebSocketRow(
                            "opcode \(second) after a continuation of opcode \(first), \(name)",
                            [
                                .begin(first, []), .begin(0, [0x61]),
                                WebSocketFrame(WebSocketFrame.ping), WebSocketFrame(second, [], isFinal: isFinal),
                            ], .fails(1002)))
                }
            }
        }
        return rows
    }()
}
