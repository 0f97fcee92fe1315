package import Foundation

/// The server's end of a WebSocket connection, in a script. It reads strictly, and sends whatever the script says.
package final class WebSocketConnection {
    /// A client has sent a frame that RFC 6455 does not allow.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    package let connection: ServerConnection
    /// The opening handshake.
    package let request: ReceivedRequest
    /// The masking keys so far, which must differ (RFC 6455 §5.3).
    private var maskingKeys: Set<[UInt8]> = []
    private var isWithinMessage = false
    /// Whether messages may have RSV1 (RFC 7692 §6). Their payloads stay compressed.
    package var mayBeCompressed = false
    private var hasReceivedClose = false
    /// The payloads of the pongs that `readMessage` and `readClose` have read.
    package private(set) var pongs: [[UInt8]] = []
    /// The payloads of the pings that they have read, and answered.
    package private(set) var pings: [[UInt8]] = []

    package init(_ connection: ServerConnection, request: ReceivedRequest) {
        self.connection = connection
        self.request = request
    }

    package var index: Int { connection.index }

    // MARK: Sending

    package func send(_ frames: WebSocketFrame...) throws { try send(frames) }

    /// All frames with one system call.
    package func send(_ frames: [WebSocketFrame]) throws { try connection.send(frames.flatMap(\.octets)) }

    package func send(_ message: WebSocketMessage) throws { try send(message.frame) }

    package func send(text: String) throws { try send(.text(text)) }

    package func send(octets: [UInt8]) throws { try connection.send(octets) }

    /// In pieces of a number of octets, each with its own system call.
    package func send(octets: [UInt8], inPiecesOf size: Int?) throws {
        guard let size else { return try send(octets: octets) }
        try connection.send(octets, inPiecesOf: size)
    }

    // MARK: Receiving

    /// Waits for a frame, unmasked. Throws if a client must not send it.
    package func readFrame() throws -> WebSocketFrame {
        let start = try connection.receive(exactly: 2)
        var frame = WebSocketFrame(start[0] & 0x0F)
        frame.isFinal = start[0] & 0x80 != 0
        frame.reserved = start[0] >> 4 & 7
        let length = try readLength(start[1] & 0x7F)
        guard start[1] & 0x80 != 0 else { throw Violation(description: "a frame is not masked (§5.1): \(frame)") }
        let key = try connection.receive(exactly: 4)
        guard maskingKeys.insert(key).inserted else {
            throw Violation(description: "the masking key \(key) is repeated (§5.3)")
        }
        frame.maskingKey = key
        frame.payload = WebSocketFrame.masked(try connection.receive(exactly: length), with: key)
        try check(frame)
        frame.maskingKey = nil
        return frame
    }

    private func readLength(_ short: UInt8) throws -> Int {
        guard short >= 126 else { return Int(short) }
        let octets = try connection.receive(exactly: short == 126 ? 2 : 8)
        guard octets[0] & 0x80 == 0 || short == 126 else { throw Violation(description: "a length above 2^63 (§5.2)") }
        let length = octets.reduce(0) { $0 << 8 | Int($1) }
        guard length > (short == 126 ? 125 : 65_535) else {
            throw Violation(description: "the length \(length) is not in its shortest form (§5.2)")
        }
        return length
    }

    private func check(_ frame: WebSocketFrame) throws {
        var fault: String?
        if frame.reserved != 0, !mayBeCompressed || frame.reserved != 4 || !(1...2).contains(frame.opcode) {
            fault = "reserved bits (§5.2)"
        }
        if hasReceivedClose { fault = "a frame after the close frame (§5.5.1)" }
        switch frame.opcode {
        case WebSocketFrame.continuation:
            if !isWithinMessage { fault = "a continuation of nothing (§5.4)" }
            isWithinMessage = !frame.isFinal
        case WebSocketFrame.text, WebSocketFrame.binary:
            if isWithinMessage { fault = "a message within a message (§5.4)" }
            isWithinMessage = !frame.isFinal
        case WebSocketFrame.close, WebSocketFrame.ping, WebSocketFrame.pong:
            if !frame.isFinal { fault = "a fragmented control frame (§5.5)" }
            if frame.payload.count > 125 { fault = "a long control frame (§5.5)" }
            if frame.opcode == WebSocketFrame.close {
                hasReceivedClose = true
                fault = fault ?? Self.faultOfClose(frame)
            }
        default: fault = "an unknown opcode (§5.2)"
        }
        if let fault { throw Violation(description: "\(fault): \(frame)") }
    }

    private static func faultOfClose(_ frame: WebSocketFrame) -> String? {
        if frame.payload.count == 1 { return "a close code of one octet (§5.5.1)" }
        if let code = frame.closeCode, !Self.mayBeSent(code) { return "the code \(code) must not be sent (§7.4)" }
        return String(validating: frame.closeReason, as: UTF8.self) == nil ? "a reason that is not UTF-8 (§5.5.1)" : nil
    }

    private static func mayBeSent(_ code: UInt16) -> Bool {
        (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
    }

    /// Waits for a whole message. Answers pings, and notes pongs. Nil if a close frame comes instead; it is then in
    /// `closeFrame`.
    package func readMessage() throws -> WebSocketMessage? {
        var opcode = WebSocketFrame.binary
        var payload: [UInt8] = []
        while true {
            let frame = try readFrame()
            switch frame.opcode {
            case WebSocketFrame.ping:
                pings.append(frame.payload)
                try send(WebSocketFrame(WebSocketFrame.pong, frame.payload))
            case WebSocketFrame.pong: pongs.append(frame.payload)
            case WebSocketFrame.close:
                closeFrame = frame
                return nil
            default:
                if frame.opcode != WebSocketFrame.continuation { opcode = frame.opcode }
                payload += frame.payload
                if frame.isFinal {
                    return opcode == WebSocketFrame.text ? .text(payload) : .binary(payload)
                }
            }
        }
    }

    /// Reads pongs until there is one with this payload.
    package func readPongs(until payload: [UInt8]) throws {
        while pongs.last != payload {
            let frame = try readFrame()
            guard frame.opcode == WebSocketFrame.pong else {
                throw Violation(description: "\(frame) instead of a pong")
            }
            pongs.append(frame.payload)
        }
    }

    /// The client's close frame, if one has been read.
    package private(set) var closeFrame: WebSocketFrame?

    /// Waits for a message, and throws if the client closes instead.
    package func requireMessage() throws -> WebSocketMessage {
        guard let message = try readMessage() else {
            throw Violation(
                description: "\(closeFrame?.description ?? "a close frame") instead of a message")
        }
        return message
    }

    /// Reads messages until the client's close frame; returns the frame and the messages before it.
    @discardableResult
    package func readClose() throws -> (frame: WebSocketFrame, messages: [WebSocketMessage]) {
        var messages: [WebSocketMessage] = []
        while closeFrame == nil {
            if let message = try readMessage() { messages.append(message) }
        }
        return (closeFrame ?? WebSocketFrame(WebSocketFrame.close), messages)
    }

    // MARK: Ending

    /// Sends every message back until the client closes, and answers its close frame.
    package func echo() throws {
        while let message = try readMessage() { try send(message) }
        try answerClose()
    }

    /// The server's part of a closing handshake that the client has begun, and the end of the connection.
    package func answerClose() throws {
        let frame = try readClose().frame
        try send(WebSocketFrame(WebSocketFrame.close, Array(frame.payload.prefix(2))))
        try endConnection()
    }

    /// A closing handshake that the server begins; returns the client's answer.
    @discardableResult
    package func close(_ frame: WebSocketFrame = .close(1000)) throws -> WebSocketFrame {
        try send(frame)
        let answer = try readClose().frame
        try endConnection()
        return answer
    }

    /// The server closes TCP first (RFC 6455 §7.1.1), and waits for the client to follow.
    package func endConnection() throws {
        do {
            try connection.finishSending()
            try connection.waitForClose()
        } catch  where connection.record.end != nil {
            return
        }
    }
}

extension ScriptedServer {
    /// A WebSocket server. Each connection's request must be an opening handshake, which is answered.
    ///
    /// - Parameters:
    ///   - answer: The response, right or wrong.
    ///   - script: Runs after the response, whatever it says.
    package static func webSocket(
        _ options: Options = Options(), tls: TLSServerOptions? = nil,
        answer: @escaping @Sendable (ReceivedRequest) throws -> WebSocketAnswer = { _ in .agreement },
        script: @escaping @Sendable (WebSocketConnection) throws -> Void
    ) throws -> ScriptedServer {
        try ScriptedServer(options, tls: tls) { connection in
            guard let request = try connection.nextRequest() else { return }
            try request.requireOpeningHandshake()
            let answer = try answer(request)
            try connection.send(answer.head(for: request))
            try script(WebSocketConnection(connection, request: request))
        }
    }

    /// A server that answers each request of a persistent connection, and upgrades those for which `answer` returns
    /// nil.
    package static func webSocket(
        tls: TLSServerOptions? = nil,
        refusing answer: @escaping @Sendable (ReceivedRequest) throws -> CannedResponse?,
        script: @escaping @Sendable (WebSocketConnection) throws -> Void
    ) throws -> ScriptedServer {
        try ScriptedServer(tls: tls) { connection in
            do {
                while let request = try connection.nextRequest() {
                    guard let response = try answer(request) else {
                        try request.requireOpeningHandshake()
                        try connection.send(WebSocketAnswer.agreement.head(for: request))
                        return try script(WebSocketConnection(connection, request: request))
                    }
                    try connection.send(response, to: request)
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    /// A server that sends every message back.
    package static func webSocketEcho(
        _ options: Options = Options(), tls: TLSServerOptions? = nil,
        answer: @escaping @Sendable (ReceivedRequest) throws -> WebSocketAnswer = { _ in .agreement }
    ) throws -> ScriptedServer {
        try webSocket(options, tls: tls, answer: answer) { try $0.echo() }
    }

    /// `url` with the scheme ws or wss.
    package func webSocketURL(_ path: String = "/", host: String? = nil) -> URL {
        let url = url(path, host: host)
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.scheme = url.scheme == "https" ? "wss" : "ws"
        return components?.url ?? url
    }
}
