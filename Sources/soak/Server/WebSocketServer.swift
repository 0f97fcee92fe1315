import CLoadingOpenSSL
import Foundation
import Glibc

/// A WebSocket server with one thread for all connections, in its own process (`soak --serve-websockets`). It ends with
/// its standard input.
///
/// A message is sent back, unless it is one of the commands. Nothing that it sends is long, so it never waits for a
/// client.
final class WebSocketServer {
    /// What the server does with the connection when it gets a message with this text.
    enum Command: String, CaseIterable {
        /// Ends the connection with a reset.
        case reset
        /// Sends a close frame with 1001.
        case close
        /// Ends the connection in order, without a close frame.
        case drop
        /// Ends only its own direction.
        case half
        /// Sends the beginning of a frame, and ends the connection with a reset.
        case part
    }

    private struct Connection {
        var input: [UInt8] = []
        var isOpen = false
    }

    struct Failure: Error {
        let code: Int32
    }

    private let listener: Int32
    private var connections: [Int32: Connection] = [:]
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    static func run() -> Never {
        signal(SIGPIPE, SIG_IGN)
        DescriptorLimit.raise()
        do {
            let server = try WebSocketServer()
            FileHandle.standardOutput.write(Data("\(try server.port())\n".utf8))
            server.serve()
        } catch {
            FileHandle.standardError.write(Data("The server cannot start: \(error)\n".utf8))
            exit(1)
        }
    }

    private init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard listener >= 0 else { throw Failure(code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isReady = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(listener, 4096) == 0
            }
        }
        guard isReady else { throw Failure(code: errno) }
    }

    private func port() throws -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        guard result == 0 else { throw Failure(code: errno) }
        return UInt16(bigEndian: address.sin_port)
    }

    private func serve() -> Never {
        while true {
            var polled = ([0, listener] + connections.keys).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            for entry in polled where entry.revents != 0 {
                switch entry.fd {
                case 0: _exit(0)
                case listener: acceptAll()
                case let descriptor: read(descriptor)
                }
            }
        }
    }

    private func acceptAll() {
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            connections[descriptor] = Connection()
        }
    }

    private func read(_ descriptor: Int32) {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else { return end(descriptor) }
        connections[descriptor]?.input += buffer[..<count]
        guard let connection = connections[descriptor] else { return }
        if connection.isOpen || open(descriptor) { readFrames(descriptor) }
    }

    private func end(_ descriptor: Int32, isReset: Bool = false) {
        connections[descriptor] = nil
        if isReset {
            var lingers = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingers, socklen_t(MemoryLayout<linger>.size))
        }
        close(descriptor)
    }

    private func send(_ octets: [UInt8], to descriptor: Int32) {
        _ = Glibc.send(descriptor, octets, octets.count, Int32(MSG_NOSIGNAL))
    }

    /// Answers the opening handshake when it has come whole.
    private func open(_ descriptor: Int32) -> Bool {
        guard let input = connections[descriptor]?.input, input.suffix(4) == [13, 10, 13, 10] else { return false }
        let lines = String(decoding: input, as: UTF8.self).split(separator: "\r\n")
        let field = lines.first { $0.lowercased().hasPrefix("sec-websocket-key:") }
        guard let key = field?.split(separator: ":", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces) else {
            end(descriptor)
            return false
        }
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        SHA1(text, text.count, &digest)
        let head = """
            HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: \(Data(digest).base64EncodedString())\r\n\r\n
            """
        connections[descriptor] = Connection(isOpen: true)
        send(Array(head.utf8), to: descriptor)
        return true
    }

    private func readFrames(_ descriptor: Int32) {
        while let (first, payload) = nextFrame(descriptor) {
            switch first & 15 {
            case 8:
                send([0x88, UInt8(payload.count)] + payload, to: descriptor)
                return end(descriptor)
            case 9: send([0x8A, UInt8(payload.count)] + payload, to: descriptor)
            case 10: break
            default: answer(first, payload, descriptor)
            }
        }
    }

    /// The next frame, unmasked.
    private func nextFrame(_ descriptor: Int32) -> (first: UInt8, payload: [UInt8])? {
        guard let input = connections[descriptor]?.input, input.count >= 2 else { return nil }
        let short = Int(input[1] & 127)
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        let start = 6 + extra
        guard input.count >= start else { return nil }
        let length = extra == 0 ? short : input[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) }
        guard input.count >= start + length else { return nil }
        let payload = (0..<length).map { input[start + $0] ^ input[start - 4 + $0 & 3] }
        connections[descriptor]?.input = Array(input[(start + length)...])
        return (input[0], payload)
    }

    private func answer(_ first: UInt8, _ payload: [UInt8], _ descriptor: Int32) {
        guard let command = Command(rawValue: String(decoding: payload, as: UTF8.self)) else {
            if payload.count < 126 { send([first, UInt8(payload.count)] + payload, to: descriptor) }
            return
        }
        switch command {
        case .reset: end(descriptor, isReset: true)
        case .close: send([0x88, 2, 0x03, 0xE9], to: descriptor)
        case .drop: end(descriptor)
        case .half: shutdown(descriptor, Int32(SHUT_WR))
        case .part:
            send([0x82, 126, 0x10], to: descriptor)
            end(descriptor, isReset: true)
        }
    }
}
