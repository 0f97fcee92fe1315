import LoadingProtocols
import Testing

/// Every rule of frames (RFC 6455 §5, RFC 7692 §6), as valid and as broken input. Each row is read whole and cut at
/// every octet.
@Suite struct WebSocketReaderTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let octets: [UInt8]
        var limit = 1 << 20
        var compression: WebSocketCompression?
        var events: [WebSocketEvent] = []
        var failure: WebSocketFailure?

        var testDescription: String { name }
    }

    /// A frame as a server sends it.
    static func frame(_ first: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        switch payload.count {
        case ...125: [first, UInt8(payload.count)] + payload
        case ...0xFFFF: [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
        default: [first, 127] + (0..<8).map { UInt8(payload.count >> (56 - 8 * $0) & 0xFF) } + payload
        }
    }

    private static func text(_ text: String) -> WebSocketEvent { .message(isText: true, Array(text.utf8)) }

    static let rows: [Row] = valid + broken + closing + compressed

    private static let valid: [Row] = [
        Row(name: "nothing", octets: []),
        Row(name: "an empty text", octets: frame(0x81), events: [text("")]),
        Row(name: "a text", octets: frame(0x81, Array("Hello".utf8)), events: [text("Hello")]),
        Row(name: "an empty binary message", octets: frame(0x82), events: [.message(isText: false, [])]),
        Row(
            name: "binary that is not UTF-8", octets: frame(0x82, [0xFF, 0xFE]),
            events: [.message(isText: false, [0xFF, 0xFE])]),
        Row(
            name: "125, 126 and 127 octets",
            octets: [125, 126, 127].flatMap { frame(0x82, Array(repeating: 7, count: $0)) },
            events: [125, 126, 127].map { .message(isText: false, Array(repeating: 7, count: $0)) }),
        Row(
            name: "a text in three fragments, with a ping and a pong between them",
            octets: frame(0x01, Array("a".utf8)) + frame(0x89, [1]) + frame(0x00, Array("b".utf8)) + frame(0x8A, [2])
                + frame(0x80, Array("c".utf8)),
            events: [.ping([1]), .pong([2]), text("abc")]),
        Row(
            name: "a character divided between fragments",
            octets: frame(0x01, [0xE2, 0x82]) + frame(0x80, [0xAC]), events: [text("€")]),
        Row(
            name: "empty fragments", octets: frame(0x02) + frame(0x00) + frame(0x80),
            events: [.message(isText: false, [])]),
        Row(
            name: "a ping with 125 octets", octets: frame(0x89, Array(repeating: 9, count: 125)),
            events: [.ping(Array(repeating: 9, count: 125))]),
        Row(
            name: "exactly the limit", octets: frame(0x82, [1, 2, 3]), limit: 3,
            events: [.message(isText: false, [1, 2, 3])]),
        Row(
            name: "a limit for each message, not for all", octets: frame(0x82, [1, 2]) + frame(0x82, [3, 4]), limit: 2,
            events: [.message(isText: false, [1, 2]), .message(isText: false, [3, 4])]),
    ]

    private static func broken(_ name: String, _ octets: [UInt8], _ violation: WebSocketFailure.Violation) -> Row {
        Row(name: name, octets: octets, failure: .protocolError(violation))
    }

    private static let broken: [Row] =
        [
            broken("RSV1 without compression", frame(0xC1), .reservedBits),
            broken("RSV2", frame(0xA1), .reservedBits),
            broken("RSV3", frame(0x91), .reservedBits),
            broken("a masked frame", [0x81, 0x80, 1, 2, 3, 4], .maskedByServer),
            broken("a ping in fragments", frame(0x09), .fragmentedControlFrame),
            broken("a close in fragments", frame(0x08), .fragmentedControlFrame),
            broken("a ping with 126 octets", [0x89, 126, 0, 126], .longControlFrame),
            broken("a pong with 64 KiB", [0x8A, 127, 0, 0, 0, 0, 0, 1, 0, 0], .longControlFrame),
            broken("125 octets with a length of two octets", [0x82, 126, 0, 125], .paddedLength),
            broken(
                "65,535 octets with a length of eight octets", [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .paddedLength),
            broken("the top bit of a length", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], .lengthOutOfRange),
            broken("a continuation of nothing", frame(0x80), .fragmentOrder),
            broken("a continuation after a whole message", frame(0x00, [1]), .fragmentOrder),
            broken("a text within a text", frame(0x01) + frame(0x81), .fragmentOrder),
            broken("a binary message within a text", frame(0x01) + frame(0x02), .fragmentOrder),
        ] + [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map { broken("opcode \($0)", [0x80 | $0, 0], .unknownOpcode) }
        + [
            Row(name: "invalid UTF-8", octets: frame(0x81, [0x61, 0xFF]), failure: .invalidUTF8),
            Row(name: "invalid UTF-8 before the end", octets: [0x01, 5, 0xC0], failure: .invalidUTF8),
            Row(name: "a character that is cut", octets: frame(0x81, [0xE2, 0x82]), failure: .invalidUTF8),
            Row(
                name: "a character that is wrong over a border", octets: frame(0x01, [0xED]) + [0x80, 1, 0xA0],
                failure: .invalidUTF8),
            Row(name: "more than the limit", octets: [0x82, 4], limit: 3, failure: .messageTooBig),
            Row(
                name: "fragments over the limit", octets: frame(0x02, [1, 2]) + [0x80, 2], limit: 3,
                failure: .messageTooBig),
            Row(
                name: "a length of 2^62 octets", octets: [0x82, 127, 0x40, 0, 0, 0, 0, 0, 0, 0],
                failure: .messageTooBig),
            Row(
                name: "events before the failure", octets: frame(0x81, Array("a".utf8)) + frame(0x83),
                events: [text("a")],
                failure: .protocolError(.unknownOpcode)),
        ]

    private static let closing: [Row] =
        [
            Row(name: "a close without a code", octets: frame(0x88), events: [.close(WebSocketCloseFrame())]),
            Row(
                name: "a close with a code and a reason", octets: frame(0x88, [0x03, 0xE8] + Array("done".utf8)),
                events: [.close(WebSocketCloseFrame(code: 1000, reason: Array("done".utf8)))]),
            Row(
                name: "data after a close", octets: frame(0x88, [0x03, 0xE9]) + frame(0x83) + [0xFF, 0xFF],
                events: [.close(WebSocketCloseFrame(code: 1001))]),
            Row(
                name: "a close within a message", octets: frame(0x01, [0xE2]) + frame(0x88),
                events: [.close(WebSocketCloseFrame())]),
            broken("a code of one octet", frame(0x88, [3]), .closeCode),
            Row(name: "a reason that is not UTF-8", octets: frame(0x88, [0x03, 0xE8, 0xFF]), failure: .invalidUTF8),
            Row(name: "a reason that is cut", octets: frame(0x88, [0x03, 0xE8, 0xE2, 0x82]), failure: .invalidUTF8),
        ]
        + [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 4999].map { code in
            Row(
                name: "code \(code)", octets: frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)]),
                events: [.close(WebSocketCloseFrame(code: UInt16(code)))])
        }
        + [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535].map { code in
            broken("code \(code)", frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)]), .closeCode)
        }

    /// The examples of RFC 7692 §7.2.3, and what is broken about others.
    private static let compressed: [Row] = [
        Row(
            name: "a compressed message", octets: frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]),
            compression: WebSocketCompression(), events: [text("Hello")]),
        Row(
            name: "a compressed message in fragments",
            octets: frame(0x41, [0xF2, 0x48, 0xCD]) + frame(0x80, [0xC9, 0xC9, 0x07, 0x00]),
            compression: WebSocketCompression(), events: [text("Hello")]),
        Row(
            name: "a shared window",
            octets: frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
                + frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00]),
            compression: WebSocketCompression(), events: [text("Hello"), text("Hello")]),
        Row(
            name: "a window that was not kept",
            octets: frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
                + frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00]),
            compression: WebSocketCompression(serverResets: true), events: [text("Hello")],
            failure: .protocolError(.compression)),
        Row(
            name: "a block without compression",
            octets: frame(0xC1, [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]),
            compression: WebSocketCompression(), events: [text("Hello")]),
        Row(
            name: "a final block", octets: frame(0xC1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]),
            compression: WebSocketCompression(), events: [text("Hello")]),
        Row(
            name: "a final block, then the window before it",
            octets: frame(0xC1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00])
                + frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00]),
            compression: WebSocketCompression(), events: [text("Hello"), text("Hello")]),
        Row(
            name: "64 final blocks",
            octets: frame(0xC1, Array(repeatElement([0x03, 0x00], count: 64).joined()) + [0x00]),
            compression: WebSocketCompression(), events: [text("")]),
        Row(
            name: "final blocks without end",
            octets: frame(0xC1, Array(repeatElement([0x03, 0x00], count: 65).joined()) + [0x00]),
            compression: WebSocketCompression(), failure: .protocolError(.compression)),
        Row(
            name: "two blocks",
            octets: frame(0xC1, [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]),
            compression: WebSocketCompression(), events: [text("Hello")]),
        Row(
            name: "an empty compressed message", octets: frame(0xC1, [0x00]), compression: WebSocketCompression(),
            events: [text("")]),
        Row(
            name: "a message without compression", octets: frame(0x81, Array("Hello".utf8)),
            compression: WebSocketCompression(), events: [text("Hello")]),
        Row(
            name: "RSV1 on a continuation", octets: frame(0x41, [0xF2]) + frame(0xC0),
            compression: WebSocketCompression(), failure: .protocolError(.reservedBits)),
        Row(
            name: "RSV1 on a ping", octets: frame(0xC9), compression: WebSocketCompression(),
            failure: .protocolError(.reservedBits)),
        Row(
            name: "no deflate", octets: frame(0xC1, [0xFF, 0xFF, 0xFF]), compression: WebSocketCompression(),
            failure: .protocolError(.compression)),
        Row(
            name: "more out than the limit", octets: frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]), limit: 4,
            compression: WebSocketCompression(), failure: .messageTooBig),
        Row(
            name: "compressed octets that are not UTF-8",
            octets: frame(0xC1, [0x00, 0x01, 0x00, 0xFE, 0xFF, 0xFF, 0x00]), compression: WebSocketCompression(),
            failure: .invalidUTF8),
        // However many octets come out together, the first fault counts.
        Row(
            name: "compressed octets that are not UTF-8, before those above the limit",
            octets: frame(0xC1, [0x00, 0x04, 0x00, 0xFB, 0xFF, 0x61, 0xFF, 0x62, 0x63, 0x00]), limit: 3,
            compression: WebSocketCompression(), failure: .invalidUTF8),
        Row(
            name: "compressed octets above the limit, before those that are not UTF-8",
            octets: frame(0xC1, [0x00, 0x04, 0x00, 0xFB, 0xFF, 0x61, 0x62, 0x63, 0xFF, 0x00]), limit: 3,
            compression: WebSocketCompression(), failure: .messageTooBig),
    ]

    /// What a reader makes of octets that come in pieces.
    ///
    /// - Parameter asWhole: Whether messages that are whole are taken as they lie there.
    private func read(_ pieces: [ArraySlice<UInt8>], _ row: Row, asWhole: Bool = false) -> (
        events: [WebSocketEvent], failure: WebSocketFailure?
    ) {
        var reader = WebSocketReader(maximumMessageSize: row.limit, compression: row.compression)
        var events: [WebSocketEvent] = []
        for piece in pieces {
            let failure = Array(piece).withUnsafeBytes { octets -> WebSocketFailure? in
                var input = octets
                do throws(WebSocketFailure) {
                    while true {
                        if asWhole, let (isText, octets) = reader.nextWhole(&input) {
                            events.append(.message(isText: isText, Array(octets)))
                        } else if let event = try reader.next(&input) {
                            events.append(event)
                        } else {
                            return input.isEmpty ? nil : .outOfMemory
                        }
                    }
                } catch {
                    return error
                }
            }
            if let failure { return (events, failure) }
        }
        return (events, nil)
    }

    // WS-7, WS-8, WS-11, WS-14
    @Test(arguments: rows) func everyRule(_ row: Row) {
        let whole = read([row.octets[...]], row)
        #expect(whole.events == row.events)
        #expect(whole.failure == row.failure)
        for cut in row.octets.indices {
            let parts = read([row.octets[..<cut], row.octets[cut...]], row)
            #expect(parts.events == row.events, "cut at \(cut)")
            #expect(parts.failure == row.failure, "cut at \(cut)")
            let wholes = read([row.octets[..<cut], row.octets[cut...]], row, asWhole: true)
            #expect(wholes.events == row.events, "cut at \(cut)")
            #expect(wholes.failure == row.failure, "cut at \(cut)")
        }
        let single = read(row.octets.indices.map { row.octets[$0...$0] }, row)
        #expect(single.events == row.events)
        #expect(single.failure == row.failure)
    }

    // WS-7: what `next` has to read is left to it
    @Test func messagesThatAreWhole() {
        func whole(_ octets: [UInt8], after before: [UInt8] = []) -> String {
            var reader = WebSocketReader(maximumMessageSize: 5)
            return before.withUnsafeBytes { before in
                var before = before
                _ = try? reader.next(&before)
                return octets.withUnsafeBytes { octets in
                    var input = octets
                    let message = reader.nextWhole(&input)
                    return (message.map { "\($0.isText ? "text" : "binary") \(Array($0.octets))" } ?? "none")
                        + ", \(input.count) left"
                }
            }
        }
        #expect(whole([0x81, 2, 104, 105]) == "text [104, 105], 0 left")
        #expect(whole([0x82, 1, 255, 0x82, 0]) == "binary [255], 2 left")
        #expect(whole([0x82, 0]) == "binary [], 0 left")
        // A part of a header, of a payload, and of a message; a ping; too long; not UTF-8; masked; within another
        // message or header.
        #expect(whole([]) == "none, 0 left")
        #expect(whole([0x82]) == "none, 1 left")
        #expect(whole([0x82, 2, 1]) == "none, 3 left")
        #expect(whole([0x02, 1, 1]) == "none, 3 left")
        #expect(whole([0x89, 1, 1]) == "none, 3 left")
        #expect(whole([0x82, 6, 1, 2, 3, 4, 5, 6]) == "none, 8 left")
        #expect(whole([0x81, 1, 0xFF]) == "none, 3 left")
        #expect(whole([0x81, 1, 0xC3]) == "none, 3 left")
        #expect(whole([0x82, 0x81, 0, 0, 0, 0, 1]) == "none, 7 left")
        #expect(whole([0x82, 1, 1], after: [0x02, 1, 1]) == "none, 3 left")
        #expect(whole([0x82, 1, 1], after: [0x82]) == "none, 3 left")
        #expect(whole([0x82, 1, 1], after: [0xFF]) == "none, 3 left")
        // What looks like a message, within a ping and after a close frame.
        #expect(whole([0x82, 1, 1, 0], after: [0x89, 4]) == "none, 4 left")
        #expect(whole([0x82, 0], after: [0x88, 0]) == "none, 2 left")
    }

    // WS-8
    @Test func aMessageThatInflatesToGigabytesStopsAtTheLimit() {
        let zeroes = Deflated.zeroes
        var bomb = Row(name: "", octets: Self.frame(0xC2, zeroes.octets), compression: WebSocketCompression())
        bomb.limit = zeroes.length - 1
        #expect(read([bomb.octets[...]], bomb).failure == .messageTooBig)
        bomb.limit = zeroes.length
        #expect(read([bomb.octets[...]], bomb).failure == nil)
    }

    // WS-15: the loop has other tasks
    @Test func noMoreIsDecompressedThanIsAllowed() throws {
        let zeroes = Deflated.zeroes
        let frame = Self.frame(0xC2, zeroes.octets) + Self.frame(0x81, Array("next".utf8))
        var reader = WebSocketReader(maximumMessageSize: zeroes.length, compression: WebSocketCompression())
        var events: [WebSocketEvent] = []
        var steps = 0
        try frame.withUnsafeBytes { octets in
            var input = octets
            while !input.isEmpty {
                var allowance = 256 * 1024
                if let event = try reader.next(&input, decompressing: &allowance) { events.append(event) }
                steps += 1
                // One output of zlib may come on top.
                #expect(allowance > -16 * 1024)
            }
        }
        #expect(steps >= zeroes.length / (272 * 1024))
        let isWhole =
            events == [
                .message(isText: false, [UInt8](repeating: 0, count: zeroes.length)),
                .message(isText: true, Array("next".utf8)),
            ]
        #expect(isWhole)
    }

    /// 64 MiB of zeroes, compressed by this module'"'"'s own machine.
    private enum Deflated {
        static let zeroes: (octets: [UInt8], length: Int) = {
            let length = 64 << 20
            var machine = WebSocketMachine(
                maximumMessageSize: 0, compression: WebSocketCompression(), maskingKeys: WebSocketMaskingKeys { _ in })
            _ = machine.send([UInt8](repeating: 0, count: length), .whole(isText: false), number: 1)
            var output: [UInt8] = []
            while machine.encode(into: &output, limit: .max) == .pausing {}
            // The masking key is zero: the payloads of the frames are as they are.
            var payload: [UInt8] = []
            var rest = output[...]
            while rest.count >= 2 {
                let short = Int(rest[rest.startIndex + 1] & 0x7F)
                let extra = short == 127 ? 8 : short == 126 ? 2 : 0
                let count = extra == 0 ? short : rest.dropFirst(2).prefix(extra).reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(2 + extra + 4)
                payload += rest.prefix(count)
                rest = rest.dropFirst(count)
            }
            return (payload, length)
        }()
    }
}
