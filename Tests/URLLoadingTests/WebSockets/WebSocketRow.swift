import TestSupport
import Testing

/// A case of the conformance suite: what a server sends after the handshake, and what a client that sends every message
/// back does.
struct WebSocketRow: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        /// It sends these messages back, answers the last ping, and answers the close frame that follows.
        case echoes([WebSocketMessage], pings: [[UInt8]] = [])
        /// It fails the connection with this code (RFC 6455 §7.1.7). Of the messages before, the first ones may arrive.
        case fails(UInt16, after: [WebSocketMessage] = [])
        /// It answers the server's close frame with the same code, and reports code, reason, and the messages before.
        case closes(UInt16?, reason: [UInt8] = [], after: [WebSocketMessage] = [])
    }

    let name: String
    var octets: [UInt8]
    /// The size of the pieces that the server sends; nil for one piece.
    var pieceSize: Int?
    var maximumMessageSize: Int?
    var outcome: Outcome

    init(
        _ name: String, _ octets: [UInt8], inPiecesOf pieceSize: Int? = nil, limit: Int? = nil, _ outcome: Outcome
    ) {
        self.name = name
        self.octets = octets
        self.pieceSize = pieceSize
        maximumMessageSize = limit
        self.outcome = outcome
    }

    init(
        _ name: String, _ frames: [WebSocketFrame], inPiecesOf pieceSize: Int? = nil, limit: Int? = nil,
        _ outcome: Outcome
    ) {
        self.init(name, frames.flatMap(\.octets), inPiecesOf: pieceSize, limit: limit, outcome)
    }

    var testDescription: String { name + (pieceSize.map { ", in pieces of \($0)" } ?? "") }

    /// The same in pieces of one octet.
    var octetByOctet: Self {
        var copy = self
        copy.pieceSize = 1
        return copy
    }

    // MARK: The server's part

    struct Mismatch: Error, CustomStringConvertible {
        let description: String
    }

    func serve(_ socket: WebSocketConnection) throws {
        do {
            try socket.send(octets: octets, inPiecesOf: pieceSize)
        } catch  where isFailure && socket.connection.record.end != nil {
            // The client need not read on.
        }
        switch outcome {
        case .echoes(let messages, let pings):
            for (number, message) in messages.enumerated() {
                let echoed = try socket.requireMessage()
                guard echoed == message else {
                    throw Mismatch(description: "\(echoed) instead of \(message), message \(number)")
                }
            }
            if let last = pings.last { try socket.readPongs(until: last) }
            guard isSubsequence(socket.pongs, of: pings) else {
                throw Mismatch(description: "\(socket.pongs) as pongs of \(pings)")
            }
            let answer = try socket.close()
            guard answer.closeCode == 1000 else { throw Mismatch(description: "\(answer) answers close 1000") }
        case .fails(let code, let messages):
            try expect(socket, code, messages)
            // The client does not wait for an answer (RFC 6455 §7.1.7).
            try socket.connection.waitForClose()
        case .closes(let code, _, let messages):
            try expect(socket, code, messages)
            try socket.endConnection()
        }
    }

    private var isFailure: Bool { if case .fails = outcome { true } else { false } }

    private func expect(_ socket: WebSocketConnection, _ code: UInt16?, _ messages: [WebSocketMessage]) throws {
        let (frame, echoed) = try socket.readClose()
        guard frame.closeCode == code else {
            throw Mismatch(description: "\(frame) instead of close \(code.map { "\($0)" } ?? "without code")")
        }
        guard messages.starts(with: echoed) else { throw Mismatch(description: "\(echoed) instead of \(messages)") }
    }

    private func isSubsequence(_ some: [[UInt8]], of all: [[UInt8]]) -> Bool {
        var rest = all[...]
        for element in some {
            guard let index = rest.firstIndex(of: element) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}

extension WebSocketFrame {
    /// A text frame that more follow.
    static func begin(_ opcode: UInt8, _ payload: [UInt8]) -> Self { Self(opcode, payload, isFinal: false) }
}

/// A text of a number of octets.
func ascii(_ count: Int) -> [UInt8] { (0..<count).map { 0x20 + UInt8($0 % 95) } }
