import TestSupport

extension ScriptedServer {
    /// A TCP server that advertises a QUIC port in each response, if given. The body is the index of the
    /// connection.
    static func naming(_ port: Int?, over version: String, keepsAlive: Bool = true) throws -> ScriptedServer {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = [version] }
        let field = port.map { ("alt-svc", "h3=\":\($0)\"; ma=60") }
        return try ScriptedServer(tls: tls) { connection in
            do {
                let text = "\(connection.index)"
                if version == "h2" {
                    let http2 = try HTTP2ServerConnection(connection)
                    while true {
                        let stream = try http2.readRequest()
                        try http2.sendHead(on: stream, fields: [field, ("content-length", "1")].compactMap(\.self))
                        try http2.sendBody(Array(text.utf8), on: stream, ends: true)
                    }
                }
                var head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
                if let field { head += "\(field.0): \(field.1)\r\n" }
                if !keepsAlive { head += "Connection: close\r\n" }
                while try connection.nextRequest() != nil {
                    try connection.send("\(head)\r\n\(text)")
                    if keepsAlive { continue }
                    try connection.finishSending()
                    return _ = try connection.waitForClose()
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }
}
