import LoadingProtocols
import LoadingSemantics
import Testing

@Suite struct WebSocketHandshakeTests {
    /// The nonce of the example in RFC 6455 §1.3.
    private static let nonce = Array("the sample nonce".utf8)
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    private func judge(
        _ fields: [(String, String)], status: Int = 101, subprotocols: [String] = [], offersCompression: Bool = false
    ) -> Result<WebSocketHandshake.Agreement, WebSocketHandshake.Failure> {
        let handshake = WebSocketHandshake(
            nonce: Self.nonce, subprotocols: subprotocols, offersCompression: offersCompression)
        return Result { () throws(WebSocketHandshake.Failure) in
            try handshake.judgeHTTP1(status: status, HTTPFields(fields))
        }
    }

    private static let answer = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)]

    @Test func theFieldsOfTheRequest() {
        let plain = WebSocketHandshake(nonce: Self.nonce, subprotocols: [], offersCompression: false)
        #expect(
            plain.http1Fields.map { "\($0.name): \($0.value)" } == [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Version: 13",
            ])
        let full = WebSocketHandshake(nonce: Self.nonce, subprotocols: ["a", "b"], offersCompression: true)
        #expect(
            full.commonFields.map { "\($0.name): \($0.value)" } == [
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: a, b",
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
            ])
    }

    @Test func theAcceptOfTheRFC() { #expect(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == Self.accept) }

    /// Keys of other lengths, so that the padding of Base64 and of SHA-1 is exercised.
    @Test(arguments: [
        ("", "Kfh9QIsMVZcl6xEPYxPHzW8SZ8w="),
        ("x3JJHMbDL1EzLkh9GBhXDw==", "HSmrc0sMlYUkAGmm5OPpG2HaGWk="),
    ]) func otherAccepts(_ key: String, _ accept: String) { #expect(WebSocketHandshake.accept(key) == accept) }

    // WS-3
    @Test func aServerThatAgrees() {
        #expect(judge(Self.answer) == .success(WebSocketHandshake.Agreement()))
        #expect(
            judge([
                ("upgrade", "WebSocket"), ("connection", "keep-alive, upgrade"), ("sec-websocket-accept", Self.accept),
            ]) == .success(WebSocketHandshake.Agreement()))
    }

    // WS-4
    @Test(arguments: [
        (200, answer, WebSocketHandshake.Failure.status),
        (101, [answer[1], answer[2]], .upgrade),
        (101, [("Upgrade", "h2c"), answer[1], answer[2]], .upgrade),
        (101, [answer[0], answer[2]], .connection),
        (101, [answer[0], ("Connection", "close"), answer[2]], .connection),
        (101, [answer[0], answer[1]], .accept),
        (101, [answer[0], answer[1], ("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOO=")], .accept),
        (101, answer + [answer[2]], .accept),
    ]) func aServerThatDoesNot(_ status: Int, _ fields: [(String, String)], _ failure: WebSocketHandshake.Failure) {
        #expect(judge(fields, status: status) == .failure(failure))
    }

    // WS-5
    @Test func subprotocols() {
        func chosen(_ fields: [(String, String)]) -> Result<String?, WebSocketHandshake.Failure> {
            judge(Self.answer + fields, subprotocols: ["chat", "superchat"]).map(\.subprotocol)
        }
        #expect(chosen([]) == .success(nil))
        #expect(chosen([("Sec-WebSocket-Protocol", "superchat")]) == .success("superchat"))
        #expect(chosen([("Sec-WebSocket-Protocol", "Chat")]) == .failure(.subprotocol))
        #expect(chosen([("Sec-WebSocket-Protocol", "other")]) == .failure(.subprotocol))
        #expect(chosen([("Sec-WebSocket-Protocol", "chat, superchat")]) == .failure(.subprotocol))
        #expect(
            chosen([("Sec-WebSocket-Protocol", "chat"), ("Sec-WebSocket-Protocol", "superchat")])
                == .failure(.subprotocol))
        #expect(judge(Self.answer + [("Sec-WebSocket-Protocol", "chat")]) == .failure(.subprotocol))
    }

    // WS-15
    @Test(arguments: [
        ("permessage-deflate", WebSocketCompression()),
        ("permessage-deflate;server_no_context_takeover", WebSocketCompression(serverResets: true)),
        (
            "permessage-deflate; client_no_context_takeover ; client_max_window_bits=10",
            WebSocketCompression(clientResets: true, clientWindowBits: 10)
        ),
        ("permessage-deflate; server_max_window_bits=\"8\"", WebSocketCompression()),
        (", permessage-deflate ,", WebSocketCompression()),
        ("permessage-deflate; unknown", nil), ("permessage-deflate; server_max_window_bits", nil),
        ("permessage-deflate; server_max_window_bits=7", nil), ("permessage-deflate; server_max_window_bits=16", nil),
        ("permessage-deflate; server_max_window_bits=08", nil), ("permessage-deflate; client_max_window_bits=+9", nil),
        ("permessage-deflate; client_no_context_takeover=1", nil),
        ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", nil),
        ("permessage-deflate, permessage-deflate", nil), ("x-webkit-deflate-frame", nil), ("permessage-deflate;", nil),
        ("; server_no_context_takeover", nil), ("permessage deflate", nil),
    ]) func extensions(_ value: String, _ compression: WebSocketCompression?) {
        let result = judge(Self.answer + [("Sec-WebSocket-Extensions", value)], offersCompression: true)
        #expect(result.map(\.compression) == (compression.map { .success($0) } ?? .failure(.extensions)))
        // What was not offered is refused in any form.
        if compression != nil {
            #expect(judge(Self.answer + [("Sec-WebSocket-Extensions", value)]) == .failure(.extensions))
        }
    }

    @Test func anExtendedConnect() throws {
        let handshake = WebSocketHandshake(nonce: Self.nonce, subprotocols: ["a"], offersCompression: false)
        let fields = HTTPFields([("sec-websocket-protocol", "a")])
        #expect(try handshake.judgeConnect(status: 200, fields).subprotocol == "a")
        #expect(throws: WebSocketHandshake.Failure.status) { try handshake.judgeConnect(status: 101, fields) }
        #expect(throws: WebSocketHandshake.Failure.status) { try handshake.judgeConnect(status: 403, fields) }
    }
}
