import TestSupport
import Testing

/// The WebSocket server of the tests against raw octets.
@Suite(.leakChecked) struct WebSocketServerTests {
    private static let handshake =
        "GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

    private static let response =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    // RFC 6455 §1.3, §5.7: the examples
    @Test("the examples of RFC 6455") func examples() throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send(Self.handshake)
        #expect(try client.receive(exactly: Self.response.utf8.count) == Self.response)
        try client.send([0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        #expect(try client.receive(7) == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        try client.send([0x88, 0x82, 1, 2, 3, 4, 0x02, 0xEA])
        #expect(try client.receive(4) == [0x88, 0x02, 0x03, 0xE8])
        client.close()
        try server.finish()
    }

    /// Frames that a client must not send.
    @Test(
        "violations",
        arguments: [
            // Not masked, reserved bits, unknown opcodes.
            [0x81, 0x01, 0x61], [0xC1, 0x80, 1, 2, 3, 4], [0x83, 0x80, 1, 2, 3, 4], [0x8B, 0x80, 1, 2, 3, 4],
            // A continuation of nothing, a fragmented ping, a long ping, a length that is not the shortest.
            [0x80, 0x80, 1, 2, 3, 4], [0x09, 0x80, 1, 2, 3, 4],
            [0x89, 0xFE, 0, 126, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 126), [0x82, 0xFE, 0, 1, 0, 0, 0, 0, 1],
            // Closes with one octet and with the codes 1005 and 2000, and a key that is used twice.
            [0x88, 0x81, 0, 0, 0, 0, 3], [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xED], [0x88, 0x82, 0, 0, 0, 0, 0x07, 0xD0],
            [0x81, 0x80, 1, 2, 3, 4, 0x81, 0x80, 1, 2, 3, 4],
        ] as [[UInt8]])
    func violations(octets: [UInt8]) throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send(Self.handshake)
        _ = try client.receive(exactly: Self.response.utf8.count)
        try client.send(octets)
        #expect(throws: WebSocketConnection.Violation.self) { try server.finish() }
        client.close()
    }

    @Test(
        "invalid opening handshakes",
        arguments: [
            ("GET", "POST"), ("Upgrade: websocket", "Upgrade: h2c"), ("Connection: Upgrade", "Connection: close"),
            ("dGhlIHNhbXBsZSBub25jZQ==", "AAAA"), ("Version: 13", "Version: 8"), ("Host: x\r\n", ""),
        ])
    func handshakes(part: String, replacement: String) throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send(Self.handshake.replacing(part, with: replacement))
        #expect(try client.receiveToEnd() == "")
        #expect(throws: InvalidOpeningHandshake.self) { try server.finish() }
        client.close()
    }
}
