import TestSupport

/// The program has done something else than a script demands. Fails the script, and with it `finish()`.
struct UnexpectedByScript: Error, CustomStringConvertible {
    let description: String
}

extension WebSocketConnection {
    /// Reads a frame, which must be this one.
    func demand(_ expected: WebSocketFrame) throws {
        let frame = try readFrame()
        guard frame == expected else { throw UnexpectedByScript(description: "\(frame) instead of \(expected)") }
    }

    /// Reads a ping and returns its payload.
    func demandPing() throws -> [UInt8] {
        let frame = try readFrame()
        guard frame.opcode == WebSocketFrame.ping else {
            throw UnexpectedByScript(description: "\(frame) instead of a ping")
        }
        return frame.payload
    }

    /// Reads messages until the client's close frame, which must have this code; nil for none.
    func demandClose(_ code: UInt16?) throws {
        let frame = try readClose().frame
        guard frame.closeCode == code else {
            throw UnexpectedByScript(
                description: "\(frame) instead of a close frame with \(code.map(String.init) ?? "no code")")
        }
    }
}
