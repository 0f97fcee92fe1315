import CSimulation
import Foundation

/// A WebSocket of an origin server (RFC 6455), on a connection that has been upgraded. It echoes each message, in
/// fragments and with pings between them, and closes after some messages if it is asked to.
final class WebSocketEndpoint: Endpoint {
    private let server: OriginServer
    private let wire: any Wire
    private let number: Int
    private let choices: Choices
    /// Nil if the client closes.
    private let lastMessage: Int?
    private var received: [UInt8] = []
    private var message: [UInt8] = []
    private var kind: Opcode?
    private var messages = 0
    private var pings: [[UInt8]] = []
    /// What is sent later.
    private var unsent: [UInt8] = []
    private var isSending = false
    private var hasSentClose = false
    private var isSilent = false
    private var isFinished = false

    private enum Opcode: UInt8 { case continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

    init(of server: OriginServer, on wire: any Wire, number: Int, lastMessage: Int?, _ choices: Choices) {
        (self.server, self.wire, self.number, self.lastMessage) = (server, wire, number, lastMessage)
        self.choices = choices
    }

    /// The response that upgrades the connection (RFC 6455, section 4.2.2).
    static func acceptance(of request: OriginServer.Request) -> OriginServer.Response {
        let keys = request.values(of: "sec-websocket-key")
        Law.require(keys.count == 1 && Data(base64Encoded: keys[0])?.count == 16, "a key has 16 octets: \(keys)")
        Law.require(request.values(of: "sec-websocket-version") == ["13"], "the version of the protocol is 13")
        let digest = Digest.octets(of: keys[0] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", "SHA1")
        return OriginServer.Response(
            status: 101,
            fields: [
                ("Upgrade", "websocket"), ("Connection", "Upgrade"),
                ("Sec-WebSocket-Accept", Data(digest).base64EncodedString()),
            ])
    }

    static func code(_ number: Int) -> Int { 4000 + number }
    static func reason(_ number: Int) -> String { "the end of \(number)" }

    // MARK: Endpoint

    func receive(_ bytes: [UInt8]) {
        received += bytes
        while !isFinished, let frame = takeFrame() { handle(frame.opcode, isLast: frame.isLast, frame.payload) }
    }

    func end(isBroken: Bool) { isFinished = true }

    private func takeFrame() -> (opcode: Opcode, isLast: Bool, payload: [UInt8])? {
        guard received.count >= 2 else { return nil }
        let first = received[0], second = received[1]
        Law.require(first & 0x70 == 0 && second & 0x80 != 0, "a frame of a client is masked, and has no reserved bit")
        var length = Int(second & 0x7F), place = 2
        let extra = length == 126 ? 2 : length == 127 ? 8 : 0
        guard received.count >= place + extra + 4 else { return nil }
        if extra > 0 { length = received[2..<2 + extra].reduce(0) { $0 << 8 | Int($1) } }
        place += extra
        guard received.count >= place + 4 + length else { return nil }
        let mask = Array(received[place..<place + 4])
        place += 4
        let payload = (0..<length).map { received[place + $0] ^ mask[$0 % 4] }
        received.removeFirst(place + length)
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            Law.require(false, "a client sends no opcode \(first & 0x0F)")
            return nil
        }
        return (opcode, first & 0x80 != 0, payload)
    }

    private func handle(_ opcode: Opcode, isLast: Bool, _ payload: [UInt8]) {
        switch opcode {
        case .ping: send(.pong, payload)
        case .pong:
            Law.require(!pings.isEmpty && payload == pings.removeFirst(), "pings are answered in order")
        case .close:
            Law.require(payload.count != 1, "a close has no code, or one of two octets")
            if !hasSentClose { send(.close, Array(payload.prefix(2))) }
            hasSentClose = true
            Later.after(choices.seconds(0.1)) { [self] in finish() }
        case .continuation, .text, .binary:
            Law.require((kind == nil) == (opcode != .continuation), "a fragment follows the first one of its message")
            kind = kind ?? opcode
            message += payload
            guard isLast, let kind else { return }
            (self.kind, messages) = (nil, messages + 1)
            let whole = message
            message = []
            echo(kind, whole)
        }
    }

    private func echo(_ kind: Opcode, _ whole: [UInt8]) {
        guard !hasSentClose, !isSilent else { return }
        if server.happens(.reset, choices) {
            isFinished = true
            return wire.reset()
        }
        if server.happens(.truncation, choices) {
            write(Array(frame(kind, whole, isLast: true).prefix(choices.below(whole.count + 2))))
            return finish()
        }
        isSilent = server.happens(.silence, choices)
        if isSilent { return }
        var rest = whole[...], opcode = kind
        repeat {
            let part = choices.oneIn(2) ? rest : rest.prefix(choices.below(rest.count + 1))
            rest = rest.dropFirst(part.count)
            let isLast = rest.isEmpty
            write(frame(opcode, Array(part), isLast: isLast))
            opcode = .continuation
            if choices.oneIn(4) {
                let ping = Content.bytes(pings.count, 0..<choices.below(126))
                pings.append(ping)
                send(.ping, ping)
            }
        } while !rest.isEmpty
        if messages == lastMessage {
            let code = Self.code(number)
            send(.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(Self.reason(number).utf8))
            hasSentClose = true
        }
    }

    // MARK: writing

    private func frame(_ opcode: Opcode, _ payload: [UInt8], isLast: Bool) -> [UInt8] {
        var head = [opcode.rawValue | (isLast ? 0x80 : 0)]
        switch payload.count {
        case ..<126: head.append(UInt8(payload.count))
        case ..<65_536: head += [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: head += [127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        return head + payload
    }

    private func send(_ opcode: Opcode, _ payload: [UInt8]) { write(frame(opcode, payload, isLast: true)) }

    private func write(_ bytes: [UInt8]) {
        unsent += bytes
        guard !isSending else { return }
        if server.happens(.slowness, choices) {
            isSending = true
            sendPart()
        } else {
            wire.write(unsent)
            unsent = []
        }
    }

    private func sendPart() {
        guard !isFinished else { return }
        let part = unsent.prefix(1 + choices.below(unsent.count))
        wire.write(Array(part))
        unsent.removeFirst(part.count)
        isSending = !unsent.isEmpty
        if isSending { Later.after(choices.seconds(1)) { [self] in sendPart() } }
    }

    private func finish() {
        guard !isFinished else { return }
        wire.write(unsent)
        isFinished = true
        wire.finish()
    }
}
