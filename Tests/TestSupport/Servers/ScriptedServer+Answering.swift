extension ScriptedServer {
    /// A persistent HTTP/1.1 server that answers each request.
    ///
    ///     let server = try ScriptedServer.answering { request in
    ///         switch request.path {
    ///         case "/hello": .text("hello")
    ///         case "/echo": try .echo(request)
    ///         default: .status(404)
    ///         }
    ///     }
    ///
    /// A client that closes the connection is not a failure.
    package static func answering(
        _ options: Options = Options(), tls: TLSServerOptions? = nil,
        _ answer: @escaping @Sendable (ReceivedRequest) throws -> CannedResponse
    ) throws -> ScriptedServer {
        try ScriptedServer(options, tls: tls) { connection in
            do {
                while let request = try connection.nextRequest() {
                    let response = try answer(request)
                    try connection.send(response, to: request)
                    if !response.staysOpen(after: request) {
                        try connection.finishSending()
                        try connection.waitForClose()
                        return
                    }
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    /// The same response to every request.
    package static func answering(
        _ response: CannedResponse, options: Options = Options(), tls: TLSServerOptions? = nil
    ) throws -> ScriptedServer {
        try answering(options, tls: tls) { _ in response }
    }
}

extension CannedResponse {
    fileprivate func staysOpen(after request: ReceivedRequest) -> Bool {
        switch body {
        case .untilClose, .endless: return false
        default: break
        }
        let connection = request["Connection"]?.lowercased()
        let clientStays = request.version == "HTTP/1.0" ? connection == "keep-alive" : connection != "close"
        return keepsAlive && clientStays
    }
}

extension ServerConnection {
    /// Sends a response; for HEAD only its head.
    package func send(_ response: CannedResponse, to request: ReceivedRequest) throws {
        if let signal = response.headSignal { try wait(for: signal) }
        var head = "HTTP/1.1 \(response.status) \(response.reason)\r\n"
        switch response.body {
        case .bytes(let bytes), .paced(let bytes, _, _): head += "Content-Length: \(bytes.count)\r\n"
        case .chunks: head += "Transfer-Encoding: chunked\r\n"
        case .untilClose, .endless, .none: break
        }
        if !response.staysOpen(after: request) { head += "Connection: close\r\n" }
        for field in response.fields { head += "\(field.name): \(field.value)\r\n" }
        head += "\r\n"
        if request.method == "HEAD" { return try send(head) }
        if case .bytes(let bytes) = response.body, response.bodySignal == nil {
            return try send(Array(head.utf8) + bytes)
        }
        try send(head)
        if let signal = response.bodySignal { try wait(for: signal) }
        try send(response.body)
    }

    private func send(_ body: CannedResponse.Body) throws {
        switch body {
        case .bytes(let bytes), .untilClose(let bytes): try send(bytes)
        case .chunks(let pieces, let trailers):
            for piece in pieces { try sendChunk(piece) }
            try send("0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n")
        case .endless:
            let zeros = [UInt8](repeating: 0, count: 65_536)
            while true { try send(zeros) }
        case .paced(let bytes, let portion, let permits):
            for start in stride(from: 0, to: bytes.count, by: portion) {
                try wait(for: permits)
                try send(Array(bytes[start..<min(start + portion, bytes.count)]))
            }
        case .none: break
        }
    }

    /// Sends one chunk of a chunked body. An empty chunk ends the body.
    package func sendChunk(_ bytes: [UInt8]) throws {
        try send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10])
    }
}
