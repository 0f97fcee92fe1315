/// One step of a linear server script.
///
///     let server = try ScriptedServer(steps: [.expectRequest, .send("HTTP/1.1 200 OK\r\n"), .wait(released), .reset])
package enum Step: Sendable {
    /// Reads a whole request.
    case expectRequest
    /// Reads a whole request and checks method and target.
    case expect(method: String, target: String)
    case send(String)
    case sendBytes([UInt8])
    case sendByteByByte(String)
    /// Waits for a signal, without reading.
    case wait(Signal)
    /// Fires a signal for the test.
    case fire(Signal)
    /// Closes the write side only.
    case finishSending
    /// Reads until the client closes its side.
    case waitForClose
    case close
    /// With TLS, without close_notify.
    case closeAbruptly
    case reset
    /// Reads nothing until the server stops.
    case stopReading

    fileprivate func run(on connection: ServerConnection) throws {
        switch self {
        case .expectRequest: _ = try connection.readRequest()
        case .expect(let method, let target):
            let request = try connection.readRequest()
            guard request.method == method, request.target == target else {
                throw UnexpectedRequest(request: request, expected: "\(method) \(target)")
            }
        case .send(let text): try connection.send(text)
        case .sendBytes(let bytes): try connection.send(bytes)
        case .sendByteByByte(let text): try connection.sendByteByByte(text)
        case .wait(let signal): try connection.wait(for: signal)
        case .fire(let signal): signal.fire()
        case .finishSending: try connection.finishSending()
        case .waitForClose: try connection.waitForClose()
        case .close: connection.close()
        case .closeAbruptly: connection.closeAbruptly()
        case .reset: connection.reset()
        case .stopReading: try connection.stopReading()
        }
    }
}

/// A script received an unexpected request, or too many connections were made.
package struct UnexpectedRequest: Error, CustomStringConvertible {
    package let request: ReceivedRequest?
    package let expected: String

    package var description: String { "expected \(expected), got \(request?.description ?? "a connection")" }
}

extension ScriptedServer {
    /// Every connection runs the same steps.
    package convenience init(_ options: Options = Options(), tls: TLSServerOptions? = nil, steps: [Step]) throws {
        try self.init(options, tls: tls) { connection in
            for step in steps { try step.run(on: connection) }
        }
    }

    /// Each connection runs the list at its index. Further connections are a failure.
    package convenience init(
        _ options: Options = Options(), tls: TLSServerOptions? = nil, connections: [[Step]]
    ) throws {
        try self.init(options, tls: tls) { connection in
            guard connection.index < connections.count else {
                throw UnexpectedRequest(request: nil, expected: "\(connections.count) connections")
            }
            for step in connections[connection.index] { try step.run(on: connection) }
        }
    }
}
