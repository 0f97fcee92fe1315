extension ScriptedServer {
    /// A SOCKS 4a proxy together with its destination server; one request per connection.
    ///
    /// - Parameter answer: Gets the destination as "name:port" and the request.
    package static func socks4(
        answering answer: @escaping @Sendable (String, ReceivedRequest) -> CannedResponse
    ) throws -> ScriptedServer {
        try ScriptedServer { connection in
            let head = try connection.receive(exactly: 8)
            // Version 4, CONNECT, and the address that indicates a following name (4a).
            guard head[..<2] == [4, 1], head[4...] == [0, 0, 0, 1] else {
                throw UnexpectedRequest(request: nil, expected: "SOCKS4a instead of \(head)")
            }
            var texts: [String] = []
            for _ in 0..<2 {
                var text: [UInt8] = []
                while let byte = try connection.receive(exactly: 1).first, byte != 0 { text.append(byte) }
                texts.append(String(decoding: text, as: UTF8.self))
            }
            try connection.send([0, 90, 0, 0, 0, 0, 0, 0])
            let request = try connection.readRequest()
            try connection.send(answer("\(texts[1]):\(Int(head[2]) << 8 | Int(head[3]))", request), to: request)
            try connection.waitForClose()
        }
    }

    /// A SOCKS 5 proxy without authentication that connects every request to one server.
    package static func socks5(to server: ScriptedServer) throws -> ScriptedServer {
        let port = server.port
        return try ScriptedServer { connection in
            _ = try connection.receive(exactly: Int(try connection.receive(exactly: 2)[1]))
            try connection.send([5, 0])
            let head = try connection.receive(exactly: 4)
            let length = head[3] == 3 ? Int(try connection.receive(exactly: 1)[0]) : head[3] == 1 ? 4 : 16
            _ = try connection.receive(exactly: length + 2)
            try connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            try connection.relay(to: port)
        }
    }
}
