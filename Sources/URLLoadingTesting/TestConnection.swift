internal import Foundation
internal import LoadingProtocols
internal import URLLoading

/// One connection of a server, on a thread of its own, and its requests over HTTP/1.1.
final class TestConnection: ResponseWriter {
    private let socket: TestSocket
    private let number: Int
    private let core: TestServerCore
    /// Received, and not used yet.
    private var input: [UInt8] = []

    init(_ socket: TestSocket, _ number: Int, of core: TestServerCore) {
        self.socket = socket
        self.number = number
        self.core = core
    }

    func serve() {
        guard socket.open(core.authority, core.certificateFault, offersHTTP2: core.offersHTTP2) else { return }
        if socket.isHTTP2 {
            HTTP2Connection(socket, number, of: core)?.serve()
            return
        }
        do {
            while let request = try readRequest(),
                let response = core.response(to: request, core.record(request), unless: { socket.hasClientGone })
            {
                if let conversation = response.webSocket {
                    try open(conversation.subprotocol, conversation.body, request)
                    break
                }
                guard try send(response, to: request, of: core) else { break }
            }
        } catch {
            // The client has gone, or has sent what is no request.
        }
        socket.finish()
    }

    // MARK: Requests

    /// At least one byte more in `input`; false at the end.
    private func receive() -> Bool {
        guard let more = socket.read() else { return false }
        input += more
        return true
    }

    /// So many bytes.
    func read(_ count: Int) throws -> [UInt8] {
        while input.count < count { if !receive() { throw TestSocket.Ended() } }
        defer { input.removeFirst(count) }
        return Array(input[..<count])
    }

    /// What is read of a head before the client is given up, in bytes.
    private static let longestHead = 1 << 20

    /// The next line, without its end. A CR within it is refused (RFC 9112 §2.2), as the client does in responses.
    private func readLine() throws -> String {
        var searched = 0
        while true {
            if let end = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                var line = input[..<end]
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                guard !line.contains(UInt8(ascii: "\r")) else {
                    throw try refused("A line has a CR that does not end it.")
                }
                defer { input.removeFirst(end + 1) }
                return String(decoding: line, as: UTF8.self)
            }
            searched = input.count
            guard searched < Self.longestHead, receive() else { throw TestSocket.Ended() }
        }
    }

    /// Nil at the end of the connection between two requests.
    private func readRequest() throws -> TestRequest? {
        if input.isEmpty, !receive() { return nil }
        let words = try readLine().split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count == 3 else { throw try refused("The request line has not three words.") }
        var request = TestRequest(
            method: words[0], target: words[1], fields: try readFields(), body: Data(), isSecure: socket.isSecure,
            protocolName: "http/1.1", connection: number)
        if request["Expect"]?.lowercased() == "100-continue" { try write("HTTP/1.1 100 Continue\r\n\r\n") }
        if request.has("chunked", in: "Transfer-Encoding") {
            request.body = try readChunks()
        } else if let length = request["Content-Length"].flatMap({ Int($0) }), length > 0 {
            request.body = Data(try read(length))
        }
        return request
    }

    /// Reports to the client what is wrong with its request.
    private func refused(_ reason: String) throws -> TestSocket.Ended {
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: \(reason.utf8.count)\r\n"
        try write(head + "Connection: close\r\n\r\n" + reason)
        return TestSocket.Ended()
    }

    private func readFields() throws -> [TestRequest.Field] {
        var fields: [TestRequest.Field] = []
        var rest = Self.longestHead
        while true {
            let line = try readLine()
            if line.isEmpty { return fields }
            rest -= line.utf8.count
            guard rest > 0 else { throw TestSocket.Ended() }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, fields.count < 10_000 else { throw try refused("A field has no colon.") }
            fields.append(
                TestRequest.Field(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
    }

    private func readChunks() throws -> Data {
        var body = Data()
        while true {
            let size = try readLine().prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
            guard let size = Int(size, radix: 16), size >= 0 else { throw try refused("A chunk has no size.") }
            if size == 0 {
                _ = try readFields()
                return body
            }
            body += try read(size)
            _ = try readLine()
        }
    }

    // MARK: Responses

    private func write(_ text: String) throws { try socket.write(Array(text.utf8)) }

    func writeHead(of response: TestResponse, to request: TestRequest) throws {
        let reason = HTTPURLResponse.localizedString(forStatusCode: response.status)
        var head = "HTTP/1.1 \(response.status) \(reason)\r\n"
        for (name, value) in response.fieldsWithLength { head += "\(name): \(value)\r\n" }
        if response.isChunked { head += "Transfer-Encoding: chunked\r\n" }
        if response.closes(request), !response.fields.contains(where: { $0.name.lowercased() == "connection" }) {
            head += "Connection: close\r\n"
        }
        try write(head + "\r\n")
    }

    func writeBody(_ bytes: Data, of response: TestResponse) throws {
        guard response.isChunked else { return try socket.write(Array(bytes)) }
        try socket.write(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
    }

    func endBody(of response: TestResponse) throws { if response.isChunked { try write("0\r\n\r\n") } }

    func writeRaw(_ bytes: Data) throws { try socket.write(Array(bytes)) }

    func fail(_ fault: TestResponse.Fault) {
        switch fault {
        // Without close_notify.
        case .disconnect: socket.interrupt()
        case .reset: socket.resetWhenClosed()
        case .stall: while receive() { input = [] }
        }
    }

    // MARK: WebSockets

    private func open(
        _ subprotocol: String?, _ conversation: @escaping TestResponse.Conversation, _ request: TestRequest
    ) throws {
        guard let key = request["Sec-WebSocket-Key"], request["Upgrade"]?.lowercased() == "websocket" else {
            try write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        }
        var head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Accept: \(WebSocketHandshake.accept(key))\r\n"
        if let subprotocol { head += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
        try write(head + "\r\n")
        let webSocket = TestWebSocket(socket, input, of: core)
        core.wait {
            try? await conversation(webSocket)
            await webSocket.end()
        }
    }
}
