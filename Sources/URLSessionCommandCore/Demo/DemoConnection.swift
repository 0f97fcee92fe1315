#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// One connection of the demo server. Reads requests and answers them until either side closes the connection.
struct DemoConnection {
    private struct Head {
        var method: String
        var path: String
        var bodyLength: Int
    }

    private static let greeting = """
        {"message":"Hello from urlsession","languages":["Swift"],"version":1.1,"encrypted":false,"next":null}
        """

    private let descriptor: Int32
    private let downloadSize: Int64
    private var buffer: [UInt8] = []

    init(descriptor: Int32, downloadSize: Int64) {
        self.descriptor = descriptor
        self.downloadSize = downloadSize
    }

    mutating func serve() {
        while let head = readHead(), skipBody(head.bodyLength), answer(head) {}
    }

    // MARK: Answers

    /// Returns false if the connection must be closed after this response.
    private func answer(_ head: Head) -> Bool {
        switch head.path {
        case "/greeting": return send(200, type: "application/json", body: Self.greeting)
        case "/moved": return send("HTTP/1.1 302 Found\r\nLocation: /greeting\r\nContent-Length: 0\r\n\r\n")
        case "/upload": return send(201, type: "application/json", body: "{\"received\":\(head.bodyLength)}")
        case "/binary": return send(200, type: "application/octet-stream", body: "\u{0}\u{1}\u{2}")
        case "/stream": return sendStream()
        case "/download": return sendDownload()
        case "/silent":
            waitForClose()
            return false
        case "/truncated":
            _ =
                send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n")
                && send([UInt8](repeating: UInt8(ascii: "."), count: 400_000))
            return false
        default: return send(404, type: "text/plain", body: "There is nothing here.\n")
        }
    }

    private func send(_ status: Int, type: String, body: String) -> Bool {
        send(
            "HTTP/1.1 \(status) \(StatusText.reason(status))\r\nContent-Type: \(type)\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    }

    /// Sends lines one at a time, as a log or a language model does.
    private func sendStream() -> Bool {
        guard send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n") else {
            return false
        }
        for number in 1...12 {
            usleep(80_000)
            let line = "line \(number)\n"
            guard send(String(line.utf8.count, radix: 16) + "\r\n" + line + "\r\n") else { return false }
        }
        return send("0\r\n\r\n")
    }

    private func sendDownload() -> Bool {
        let piece = [UInt8](repeating: 0x5A, count: 1 << 18)
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: \(downloadSize)\r\n\r\n"
        guard send(head) else { return false }
        var left = downloadSize
        while left > 0 {
            let count = min(left, Int64(piece.count))
            guard count == piece.count ? send(piece) : send(Array(piece.prefix(Int(count)))) else { return false }
            left -= count
        }
        return true
    }

    private func waitForClose() {
        var bytes = [UInt8](repeating: 0, count: 256)
        while recv(descriptor, &bytes, bytes.count, 0) > 0 {}
    }

    // MARK: Reading

    private mutating func readHead() -> Head? {
        while true {
            if let end = endOfHead() {
                let text = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeSubrange(..<(end + 4))
                return Self.parse(text)
            }
            guard buffer.count < 65_536, receive() else { return nil }
        }
    }

    private func endOfHead() -> Int? {
        guard buffer.count >= 4 else { return nil }
        return (0...(buffer.count - 4)).first { buffer[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }
    }

    private static func parse(_ text: String) -> Head? {
        let lines = text.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var length = 0
        for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
            let value = line.dropFirst("content-length:".count).drop { $0 == " " }
            guard let count = Int(value), count >= 0 else { return nil }
            length = count
        }
        return Head(method: String(words[0]), path: String(words[1]), bodyLength: length)
    }

    private mutating func skipBody(_ length: Int) -> Bool {
        var left = length
        while true {
            let count = min(left, buffer.count)
            buffer.removeFirst(count)
            left -= count
            if left == 0 { return true }
            guard receive() else { return false }
        }
    }

    private mutating func receive() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            if count > 0 {
                buffer += bytes[..<count]
                return true
            }
            guard count < 0, errno == EINTR else { return false }
        }
    }

    // MARK: Writing

    private func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    private func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var sent = 0
            while sent < buffer.count {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
                let count = Self.systemSend(descriptor, rest)
                if count > 0 {
                    sent += count
                } else if count == 0 || errno != EINTR {
                    return false
                }
            }
            return true
        }
    }

    /// The system call. Named differently because `send` is a method of this type.
    private static func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Musl)
            Musl.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #else
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #endif
    }
}
