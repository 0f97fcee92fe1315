internal import CLoadingTestTLS
internal import Foundation
internal import Glibc
internal import LoadingProtocols
internal import URLLoading

/// One connection of a server, on a thread of its own. The core closes the descriptor.
final class TestConnection {
    private let descriptor: Int32
    private let number: Int
    private let core: TestServerCore
    private var tls: OpaquePointer?
    /// Received, and not used yet.
    private var input: [UInt8] = []

    init(_ descriptor: Int32, _ number: Int, of core: TestServerCore) {
        self.descriptor = descriptor
        self.number = number
        self.core = core
        // A thread waits for it.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { cltt_stream_free(tls) }

    func serve() {
        var first: UInt8 = 0
        guard recv(descriptor, &first, 1, Int32(MSG_PEEK)) == 1 else { return }
        // The first byte of a TLS record with a handshake.
        if first == 0x16 {
            tls = cltt_accept(core.authority.pointer, descriptor, Int32(core.certificateFault.code))
            if tls == nil { return }
        }
        do {
            while let request = try readRequest(), let response = core.response(to: request) {
                guard try send(response, to: request) else { return }
            }
            if let tls { cltt_close(tls) }
        } catch {
            // The client has gone, or has sent what is no request.
        }
    }

    // MARK: Bytes

    /// The connection has ended.
    struct Ended: Error {}

    /// At least one byte more in `input`; false at the end.
    private func receive() -> Bool {
        let size = 65_536
        let more = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            if let tls {
                count = max(0, cltt_read(tls, buffer.baseAddress, size))
            } else {
                count = max(0, recv(descriptor, buffer.baseAddress, size, 0))
            }
        }
        input += more
        return !more.isEmpty
    }

    /// So many bytes.
    func read(_ count: Int) throws -> [UInt8] {
        while input.count < count { if !receive() { throw Ended() } }
        defer { input.removeFirst(count) }
        return Array(input[..<count])
    }

    func write(_ bytes: some Collection<UInt8>) throws {
        let bytes = Array(bytes)
        if let tls {
            if cltt_write(tls, bytes, bytes.count) != 0 { throw Ended() }
            return
        }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { throw Ended() }
            sent += count
        }
    }

    // MARK: Requests

    /// What is read of a head before the client is given up, in bytes.
    private static let longestHead = 1 << 20

    /// The next line, without its end.
    private func readLine() throws -> String {
        var searched = 0
        while true {
            if let end = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                var line = input[..<end]
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                defer { input.removeFirst(end + 1) }
                return String(decoding: line, as: UTF8.self)
            }
            searched = input.count
            guard searched < Self.longestHead, receive() else { throw Ended() }
        }
    }

    /// Nil at the end of the connection between two requests.
    private func readRequest() throws -> TestRequest? {
        if input.isEmpty, !receive() { return nil }
        let words = try readLine().split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count == 3 else { throw Ended() }
        var request = TestRequest(
            method: words[0], target: words[1], fields: try readFields(), body: Data(), isSecure: tls != nil,
            connection: number)
        if request["Expect"]?.lowercased() == "100-continue" { try write("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
        if request["Transfer-Encoding"]?.lowercased() == "chunked" {
            request.body = try readChunks()
        } else if let length = request["Content-Length"].flatMap({ Int($0) }), length > 0 {
            request.body = Data(try read(length))
        }
        return request
    }

    private func readFields() throws -> [TestRequest.Field] {
        var fields: [TestRequest.Field] = []
        while true {
            let line = try readLine()
            if line.isEmpty { return fields }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, fields.count < 10_000 else { throw Ended() }
            fields.append(
                TestRequest.Field(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
    }

    private func readChunks() throws -> Data {
        var body = Data()
        while true {
            let size = try readLine().prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
            guard let size = Int(size, radix: 16), size >= 0 else { throw Ended() }
            if size == 0 {
                _ = try readFields()
                return body
            }
            body += try read(size)
            _ = try readLine()
        }
    }

    // MARK: Responses

    /// False if the connection is not used any more.
    private func send(_ response: TestResponse, to request: TestRequest) throws -> Bool {
        if response.delay > .zero { core.pause(response.delay) }
        if let raw = response.raw {
            try write(raw)
            return false
        }
        if let (subprotocol, conversation) = response.webSocket {
            return try open(subprotocol, conversation, request)
        }
        if fails(response, at: .start) { return false }
        try write(head(of: response, to: request).utf8)
        if fails(response, at: .head) { return false }
        if mayHaveBody(response, request), try !sendBody(of: response) { return false }
        return !closes(response, request)
    }

    private func closes(_ response: TestResponse, _ request: TestRequest) -> Bool {
        response.closesConnection || request["Connection"]?.lowercased() == "close"
    }

    private func mayHaveBody(_ response: TestResponse, _ request: TestRequest) -> Bool {
        request.method != "HEAD" && response.status >= 200 && response.status != 204 && response.status != 304
    }

    private func head(of response: TestResponse, to request: TestRequest) -> String {
        var head = "HTTP/1.1 \(response.status) \(HTTPURLResponse.localizedString(forStatusCode: response.status))\r\n"
        for (name, value) in response.fields { head += "\(name): \(value)\r\n" }
        let names = Set(response.fields.map { $0.name.lowercased() })
        if response.isChunked {
            head += "Transfer-Encoding: chunked\r\n"
        } else if names.isDisjoint(with: ["content-length", "transfer-encoding"]), response.status >= 200,
            response.status != 204, response.status != 304
        {
            head += "Content-Length: \(response.body.count)\r\n"
        }
        if closes(response, request), !names.contains("connection") { head += "Connection: close\r\n" }
        return head + "\r\n"
    }

    /// False if the connection is not used any more.
    private func sendBody(of response: TestResponse) throws -> Bool {
        var limit = Int.max
        if case (_, .body(let count))? = response.failure { limit = max(0, count) }
        let body = response.body.prefix(limit)
        // Twenty pieces a second.
        let piece = response.rate.map { max(1, $0 / 20) } ?? 16_384
        var sent = body.startIndex
        while sent < body.endIndex {
            let end = min(sent + piece, body.endIndex)
            let bytes = body[sent..<end]
            if response.isChunked {
                try write("\(String(bytes.count, radix: 16))\r\n".utf8 + Array(bytes) + "\r\n".utf8)
            } else {
                try write(bytes)
            }
            sent = end
            if let rate = response.rate { core.pause(.seconds(Double(bytes.count) / Double(rate))) }
        }
        if case (let fault, .body)? = response.failure {
            fail(fault)
            return false
        }
        if response.isChunked { try write("0\r\n\r\n".utf8) }
        return true
    }

    private func fails(_ response: TestResponse, at position: TestResponse.Position) -> Bool {
        guard let failure = response.failure, failure.position == position else { return false }
        fail(failure.fault)
        return true
    }

    private func fail(_ fault: TestResponse.Fault) {
        switch fault {
        // Without close_notify.
        case .disconnect: break
        case .reset:
            var now = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        case .stall: while receive() { input = [] }
        }
    }

    // MARK: WebSockets

    private func open(
        _ subprotocol: String?, _ conversation: (TestWebSocket) throws -> Void, _ request: TestRequest
    ) throws -> Bool {
        guard let key = request["Sec-WebSocket-Key"], request["Upgrade"]?.lowercased() == "websocket" else {
            try write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
            return false
        }
        var head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Accept: \(WebSocketHandshake.accept(key))\r\n"
        if let subprotocol { head += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
        try write((head + "\r\n").utf8)
        let socket = TestWebSocket(self)
        try? conversation(socket)
        socket.end()
        return false
    }
}

extension Optional<TestServer.CertificateFault> {
    fileprivate var code: Int {
        switch self {
        case nil: CLTT_VALID
        case .expired: CLTT_EXPIRED
        case .wrongHost: CLTT_WRONG_HOST
        case .untrusted: CLTT_UNTRUSTED
        }
    }
}
