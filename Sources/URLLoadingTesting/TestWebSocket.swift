public import Foundation

/// The server's side of a WebSocket, in the conversation of ``TestResponse/webSocket(subprotocol:_:)``. Used on that thread. Its methods
/// block, and throw ``TestServerError/webSocketEnded`` when the connection has ended.
public final class TestWebSocket {
    public enum Message: Sendable, Equatable {
        case text(String)
        case binary(Data)
    }

    private let connection: TestConnection
    private var hasSentClose = false
    /// The code of the client's close frame, 1005 for none; nil before it.
    public private(set) var receivedCloseCode: Int?
    /// The number of pings that were answered.
    public private(set) var pingCount = 0

    init(_ connection: TestConnection) { self.connection = connection }

    /// The next message, after pings have been answered. Nil after the client's close frame, which is answered.
    public func receive() throws -> Message? {
        if receivedCloseCode != nil { return nil }
        var content: [UInt8] = []
        var isText: Bool?
        while true {
            let frame = try readFrame()
            switch frame.opcode {
            case 0x0 where isText != nil, 0x1 where isText == nil, 0x2 where isText == nil:
                if frame.opcode != 0 { isText = frame.opcode == 1 }
                content += frame.content
                guard frame.isFinal else { continue }
                return isText == true ? .text(String(decoding: content, as: UTF8.self)) : .binary(Data(content))
            case 0x8:
                receivedCloseCode = frame.content.count >= 2 ? Int(frame.content[0]) << 8 | Int(frame.content[1]) : 1005
                if !hasSentClose { try send(0x8, frame.content.prefix(2)) }
                hasSentClose = true
                return nil
            case 0x9:
                pingCount += 1
                try send(0xA, frame.content)
            case 0xA: break
            default: throw TestServerError.webSocketEnded
            }
        }
    }

    public func send(_ message: Message) throws {
        switch message {
        case .text(let text): try send(0x1, text.utf8)
        case .binary(let data): try send(0x2, data)
        }
    }

    /// Sends a text.
    public func send(_ text: String) throws { try send(.text(text)) }

    /// Sends a ping. The pong is read by `receive`.
    public func ping(_ content: Data = Data()) throws { try send(0x9, content.prefix(125)) }

    /// Sends a close frame, and waits for that of the client. Messages that come before it are dropped.
    public func close(code: Int = 1000, reason: String = "") throws {
        guard !hasSentClose else { return }
        hasSentClose = true
        let bytes = [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
        try send(0x8, bytes + Array(reason.utf8.prefix(123)))
        while try receive() != nil {}
    }

    /// Any bytes, for a server that violates the protocol.
    public func sendRaw(_ bytes: Data) throws { try connected { try connection.write(bytes) } }

    /// At the end of the conversation.
    func end() { if !hasSentClose { try? send(0x8, [0x03, 0xE8]) } }

    // MARK: Frames (RFC 6455 §5.2)

    private func connected<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch is TestConnection.Ended { throw TestServerError.webSocketEnded }
    }

    private func send(_ opcode: UInt8, _ content: some Collection<UInt8>) throws {
        var frame = [0x80 | opcode]
        switch content.count {
        case ..<126: frame.append(UInt8(content.count))
        case ..<65_536: frame += [126, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        default: frame += [127] + (0..<8).map { UInt8(truncatingIfNeeded: content.count >> (56 - 8 * $0)) }
        }
        try connected { try connection.write(frame + Array(content)) }
    }

    /// What a client may send at once, in bytes.
    private static let largestFrame = 1 << 30

    private func readFrame() throws -> (isFinal: Bool, opcode: UInt8, content: [UInt8]) {
        try connected {
            let head = try connection.read(2)
            var length = Int(head[1] & 0x7F)
            if length >= 126 {
                let bytes = try connection.read(length == 126 ? 2 : 8)
                // 63 bits at most.
                guard bytes.count == 2 || bytes[0] < 0x80 else { throw TestServerError.webSocketEnded }
                length = bytes.reduce(0) { $0 << 8 | Int($1) }
            }
            // A client's frames are masked.
            guard head[1] & 0x80 != 0, length <= Self.largestFrame else { throw TestServerError.webSocketEnded }
            let mask = try connection.read(4)
            var content = try connection.read(length)
            for index in content.indices { content[index] ^= mask[index & 3] }
            return (head[0] & 0x80 != 0, head[0] & 0x0F, content)
        }
    }
}
