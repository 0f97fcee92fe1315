import Foundation
import TestSupport
import Testing
import URLLoading

/// permessage-deflate (RFC 7692), which a session offers only if it is enabled: WS-15.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct WebSocketCompressionTests {
    /// What a server sends after it has agreed to compress.
    struct Row: Sendable, CustomTestStringConvertible {
        enum Outcome: Sendable {
            case receives([WebSocketMessage])
            case fails(UInt16)
        }

        let testDescription: String
        var parameters = ""
        var frames: [WebSocketFrame]
        var limit = 1 << 20
        var outcome: Outcome

        init(
            _ name: String, _ frames: [WebSocketFrame], parameters: String = "", limit: Int = 1 << 20,
            _ outcome: Outcome
        ) {
            testDescription = name
            self.parameters = parameters
            self.frames = frames
            self.limit = limit
            self.outcome = outcome
        }
    }

    private static func compressed(
        _ payload: [UInt8], _ opcode: UInt8 = WebSocketFrame.text, isFinal: Bool = true
    ) -> WebSocketFrame {
        WebSocketFrame(opcode, payload, isFinal: isFinal, reserved: 4)
    }

    /// "Hello" (RFC 7692 §7.2.3.1), and the same with the window of the first (§7.2.3.2).
    private static let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    private static let helloAgain: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]

    /// 1 + 258 × `count` zeros in one block with fixed codes (RFC 1951 §3.2.6), without the end of a flush.
    private static func zeros(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = []
        var bitCount = 0
        func append(_ bits: String) {
            for bit in bits {
                if bitCount % 8 == 0 { octets.append(0) }
                if bit == "1" { octets[octets.count - 1] |= 1 << UInt8(bitCount % 8) }
                bitCount += 1
            }
        }
        // Not the last block, fixed codes, the literal 0.
        append("0" + "10" + "00110000")
        // The length 258 and the distance 1.
        for _ in 0..<count { append("11000101" + "00000") }
        // The end of the block, and the header of an empty one, whose length is left out.
        append("0000000" + "000")
        return octets
    }

    /// A block without compression (RFC 1951 §3.2.4).
    private static func stored(_ payload: [UInt8]) -> [UInt8] {
        let (low, high) = (UInt8(payload.count & 0xFF), UInt8(payload.count >> 8))
        return [0, low, high, ~low, ~high] + payload + [0]
    }

    static let rows: [Row] = {
        let greeting = WebSocketMessage.text("Hello")
        let ping = WebSocketFrame(WebSocketFrame.ping)
        let continuation = WebSocketFrame.continuation
        var rows = [
            // RFC 7692 §7.2.3
            Row("one frame", [compressed(hello)], .receives([greeting])),
            Row(
                "the window of the message before", [compressed(hello), compressed(helloAgain)],
                .receives([greeting, greeting])),
            Row(
                "two fragments",
                [
                    compressed([0xF2, 0x48, 0xCD], isFinal: false),
                    WebSocketFrame(continuation, [0xC9, 0xC9, 0x07, 0x00]),
                ],
                .receives([greeting])),
            Row(
                "fragments of one octet, with pings",
                hello.enumerated().flatMap { number, octet -> [WebSocketFrame] in
                    let isLast = number == hello.count - 1
                    let part =
                        number == 0
                        ? compressed([octet], isFinal: false) : WebSocketFrame(continuation, [octet], isFinal: isLast)
                    return [ping, part]
                }, .receives([greeting])),
            Row(
                "an empty last fragment", [compressed(hello, isFinal: false), WebSocketFrame(continuation)],
                .receives([greeting])),
            Row("without compression", [compressed(stored(Array("Hello".utf8)))], .receives([greeting])),
            Row(
                "a final block", [compressed([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00])], .receives([greeting])),
            Row(
                "two blocks", [compressed([0xF2, 0x48, 0x05, 0, 0, 0, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00])],
                .receives([greeting])),
            Row("an empty message", [compressed([0])], .receives([.text([])])),
            // §6: each message may be compressed or not.
            Row(
                "a message that is not compressed between",
                [compressed(hello), greeting.frame, compressed(helloAgain)],
                .receives([greeting, greeting, greeting])),
            Row("binary", [compressed(hello, WebSocketFrame.binary)], .receives([.binary(Array("Hello".utf8))])),
            Row(
                "without context", [compressed(hello), compressed(hello)], parameters: "; server_no_context_takeover",
                .receives([greeting, greeting])),
            Row(
                "zeros", [compressed(zeros(1_000), WebSocketFrame.binary)],
                .receives([.binary([UInt8](repeating: 0, count: 258_001))])),
            // WS-8: the limit applies to what comes out.
            Row("the limit, reached", [compressed(hello)], limit: 5, .receives([greeting])),
            Row("the limit, exceeded", [compressed(hello)], limit: 4, .fails(1009)),
            Row("much from little", [compressed(zeros(100_000), WebSocketFrame.binary)], .fails(1009)),
            Row(
                "much from little, without end", [compressed(zeros(100_000), WebSocketFrame.binary, isFinal: false)],
                .fails(1009)),
            // §7.2.1, RFC 1951: what is no deflate.
            Row("a block of an unknown type", [compressed([0x07, 0, 0])], .fails(1002)),
            Row("a distance before the start", [compressed(helloAgain)], .fails(1002)),
            Row(
                "the window of the message before, which is not kept", [compressed(hello), compressed(helloAgain)],
                parameters: "; server_no_context_takeover", .fails(1002)),
            Row("a stored block whose length is not confirmed", [compressed([0, 5, 0, 0, 0, 1])], .fails(1002)),
            // §6, RFC 6455 §5.2
            Row(
                "RSV1 in a continuation",
                [compressed([0xF2], isFinal: false), WebSocketFrame(continuation, [0x48], reserved: 4)], .fails(1002)),
            Row("RSV1 in a ping", [WebSocketFrame(WebSocketFrame.ping, reserved: 4)], .fails(1002)),
            Row("RSV1 in a close frame", [WebSocketFrame(WebSocketFrame.close, reserved: 4)], .fails(1002)),
            // WS-7
            Row("text that is not UTF-8", [compressed(stored([0xC0, 0xAF]))], .fails(1007)),
            Row("half a character", [compressed(stored([0xE2, 0x82]))], .fails(1007)),
            Row(
                "text that is not UTF-8, without end", [compressed(stored([0xFF] + ascii(50)), isFinal: false)],
                .fails(1007)),
        ]
        for bits in UInt8(1)...3 {
            rows.append(
                Row("RSV \(bits)", [WebSocketFrame(WebSocketFrame.text, hello, reserved: bits)], .fails(1002)))
            rows.append(
                Row(
                    "RSV1 and RSV \(bits)", [WebSocketFrame(WebSocketFrame.text, hello, reserved: 4 | bits)],
                    .fails(1002)))
        }
        return rows
    }()

    private func run(
        _ url: URL, limit: Int = 1 << 20, compresses: Bool = true
    ) -> WebSocketRun {
        let run = WebSocketRun(url, RecordingWebSocketDelegate()) { $0.enablesWebSocketCompression = compresses }
        run.task.maximumMessageSize = limit
        return run
    }

    private func received(_ run: WebSocketRun) async -> [WebSocketMessage] {
        run.task.resume()
        var messages: [WebSocketMessage] = []
        while let message = try? await run.task.receive() { messages.append(message.message) }
        return messages
    }

    // WS-15, RFC 7692 §6, §7.2
    @Test("messages of the server", arguments: rows, [false, true]) func messages(row: Row, isOctetByOctet: Bool)
        async throws
    {
        let server = try ScriptedServer.webSocket(answer: { _ in
            WebSocketAnswer().with { $0.extensions = "permessage-deflate" + row.parameters }
        }) { socket in
            let octets = row.frames.flatMap(\.octets)
            do {
                try socket.send(octets: octets, inPiecesOf: isOctetByOctet && octets.count < 1_000 ? 1 : nil)
            } catch  where socket.connection.record.end != nil {
                // The client need not read on.
            }
            switch row.outcome {
            case .receives: try socket.close()
            case .fails(let code):
                let frame = try socket.readClose().frame
                guard frame.closeCode == code else {
                    throw WebSocketRow.Mismatch(description: "\(frame) instead of close \(code)")
                }
                try socket.connection.waitForClose()
            }
        }
        defer { server.stop() }
        let run = run(server.webSocketURL(), limit: row.limit)
        let messages = await received(run)
        let calls = try await run.end()
        try await server.finish()
        switch row.outcome {
        case .receives(let expected):
            #expect(messages == expected)
            #expect(run.task.error == nil)
        case .fails:
            #expect(run.task.error != nil)
        }
        #expect(calls.completionCount == 1)
    }

    // WS-15, RFC 7692 §5.1, §7.1
    @Test(
        "what the server may select",
        arguments: [
            ("permessage-deflate", true), ("permessage-deflate; server_no_context_takeover", true),
            ("permessage-deflate; client_no_context_takeover", true),
            ("permessage-deflate; server_max_window_bits=8", true),
            ("permessage-deflate; client_max_window_bits=15", true),
            ("permessage-deflate; client_max_window_bits=\"10\"", true),
            (
                "permessage-deflate; client_max_window_bits=9; client_no_context_takeover; server_max_window_bits=12",
                true
            ),
            ("permessage-deflate; client_max_window_bits", false),
            ("permessage-deflate; client_max_window_bits=7", false),
            ("permessage-deflate; client_max_window_bits=16", false),
            ("permessage-deflate; client_max_window_bits=010", false),
            ("permessage-deflate; server_max_window_bits=x", false),
            ("permessage-deflate; server_no_context_takeover=1", false),
            ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", false),
            ("permessage-deflate; unknown", false), ("permessage-deflate, permessage-deflate", false),
            ("x-webkit-deflate-frame", false), ("permessage-bzip2", false), ("permessage-deflate;", false),
        ])
    func selection(extensions: String, isAllowed: Bool) async throws {
        let server = try ScriptedServer.webSocket(answer: { _ in
            WebSocketAnswer().with { $0.extensions = extensions }
        }) { socket in
            do { try socket.close() } catch  where socket.connection.record.end != nil { return }
        }
        defer { server.stop() }
        let run = run(server.webSocketURL())
        run.task.resume()
        let calls = try await run.end()
        #expect(calls.contains(.opened(1, nil)) == isAllowed)
        #expect(calls.suffix(2) == [.completed(1, isAllowed ? nil : .badServerResponse), .invalid])
        let offer = try #require(server.requests.first?["Sec-WebSocket-Extensions"])
        #expect(offer.hasPrefix("permessage-deflate"))
    }

    // WS-15: a turn of the loop compresses and decompresses only a part of it
    @Test("a long message of a few octets on the wire") func longMessages() async throws {
        let length = 16 << 20
        let server = try ScriptedServer.webSocket(answer: { _ in
            WebSocketAnswer().with { $0.extensions = "permessage-deflate" }
        }) { socket in
            socket.mayBeCompressed = true
            guard let message = try socket.readMessage() else { return }
            // A client's compressed message is one of the server too.
            var frame = WebSocketFrame(WebSocketFrame.binary, message.payload)
            frame.reserved = 4
            try socket.send(frame)
            try socket.answerClose()
        }
        defer { server.stop() }
        let run = run(server.webSocketURL())
        run.task.maximumMessageSize = length
        run.task.resume()
        try await run.task.send(.data(Data(count: length)))
        guard case .data(let echoed) = try await run.task.receive() else {
            Issue.record("text instead of data")
            return
        }
        let isSame = echoed == Data(count: length)
        #expect(isSame)
        #expect(run.task.countOfBytesSent < 100_000 && run.task.countOfBytesReceived < 100_000)
        run.task.cancel(with: .normalClosure, reason: nil)
        _ = try await run.end()
    }

    // WS-15: compressed if the server agrees, and not otherwise
    @Test("messages of the client", arguments: [true, false]) func sent(agrees: Bool) async throws {
        let text = String(repeating: "Hello ", count: 1_000)
        let server = try ScriptedServer.webSocket(answer: { _ in
            WebSocketAnswer().with { $0.extensions = agrees ? "permessage-deflate" : nil }
        }) { socket in
            socket.mayBeCompressed = agrees
            let frame = try socket.readFrame()
            guard (frame.reserved == 4) == agrees, (frame.payload.count < 200) == agrees else {
                throw WebSocketRow.Mismatch(description: "\(frame)")
            }
            try socket.close()
        }
        defer { server.stop() }
        let run = run(server.webSocketURL())
        run.task.resume()
        try await run.task.send(.string(text))
        _ = try await run.end()
        try await server.finish()
    }
}
