internal import Foundation
internal import LoadingProtocols

/// The frames of a WebSocket's server (RFC 6455 §5.2). Its methods block.
///
/// One thread reads at a time, and one writes.
final class WebSocketFrames: @unchecked Sendable {
    // Sendable: `lock` guards the state, and `input` belongs to the thread that reads.
    private let socket: TestSocket
    private var input: [UInt8]
    private let lock = NSLock()
    private var state = State()

    private struct State {
        var hasSentClose = false
        var receivedCloseCode: Int?
        var pingCount = 0
    }

    private struct Frame {
        var isFinal: Bool
        var opcode: WebSocketOpcode
        var content: [UInt8]
    }

    /// What a client may send at once, in bytes.
    private static let largestMessage = 1 << 30

    init(_ socket: TestSocket, _ input: [UInt8]) {
        self.socket = socket
        self.input = input
    }

    var receivedCloseCode: Int? { lock.withLock { state.receivedCloseCode } }
    var pingCount: Int { lock.withLock { state.pingCount } }

    func interrupt() { socket.interrupt() }

    // MARK: Reading

    /// Nil after the client's close frame.
    func readMessage() throws -> TestWebSocket.Message? {
        if receivedCloseCode != nil { return nil }
        var content: [UInt8] = []
        var kind: WebSocketOpcode?
        while true {
            let frame = try readFrame()
            switch frame.opcode {
            case .text, .binary, .continuation:
                guard (frame.opcode == .continuation) == (kind != nil) else { throw TestSocket.Ended() }
                kind = kind ?? frame.opcode
                guard content.count + frame.content.count <= Self.largestMessage else { throw TestSocket.Ended() }
                content += frame.content
                guard frame.isFinal else { continue }
                return kind == .text ? .text(String(decoding: content, as: UTF8.self)) : .binary(Data(content))
            case .close:
                try receiveClose(frame.content)
                return nil
            case .ping:
                try write(.pong, frame.content)
                lock.withLock { state.pingCount += 1 }
            case .pong: break
            }
        }
    }

    private func receiveClose(_ content: [UInt8]) throws {
        let code = content.count >= 2 ? Int(content[0]) << 8 | Int(content[1]) : 1005
        let isAnswer = lock.withLock {
            state.receivedCloseCode = code
            defer { state.hasSentClose = true }
            return state.hasSentClose
        }
        if !isAnswer { try write(.close, content.prefix(2)) }
    }

    private func readFrame() throws -> Frame {
        let head = try read(2)
        guard let opcode = WebSocketOpcode(rawValue: head[0] & 0x0F) else { throw TestSocket.Ended() }
        var length = UInt64(head[1] & 0x7F)
        if length >= 126 { length = try read(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | UInt64($1) } }
        // A client's frames are masked.
        guard head[1] & 0x80 != 0, length <= Self.largestMessage else { throw TestSocket.Ended() }
        let mask = try read(4)
        var content = try read(Int(length))
        for index in content.indices { content[index] ^= mask[index & 3] }
        return Frame(isFinal: head[0] & 0x80 != 0, opcode: opcode, content: content)
    }

    /// So many bytes.
    private func read(_ count: Int) throws -> [UInt8] {
        while input.count < count {
            guard let more = socket.read() else { throw TestSocket.Ended() }
            input += more
        }
        defer { input.removeFirst(count) }
        return Array(input[..<count])
    }

    // MARK: Writing

    func write(_ opcode: WebSocketOpcode, _ content: some Collection<UInt8>) throws {
        var frame = [0x80 | opcode.rawValue]
        switch content.count {
        case ..<126: frame.append(UInt8(content.count))
        case ..<65_536: frame += [126, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        default: frame += [127] + (0..<8).map { UInt8(truncatingIfNeeded: content.count >> (56 - 8 * $0)) }
        }
        try socket.write(frame + content)
    }

    /// Once.
    func writeClose(_ code: Int, _ reason: String) throws {
        let isFirst = lock.withLock {
            defer { state.hasSentClose = true }
            return !state.hasSentClose
        }
        guard isFirst else { return }
        let bytes = [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
        try write(.close, bytes + WebSocketCloseFrame.fitting(Array(reason.utf8)))
    }

    func writeRaw(_ bytes: [UInt8]) throws { try socket.write(bytes) }
}
