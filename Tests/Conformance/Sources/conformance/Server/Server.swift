import Foundation
import Glibc

/// A server on loopback that says what the case wants. It lives until the process ends.
final class Server: Sendable {
    let port: Int
    private let log = Locked<[Request]>([])
    private let accepted = Locked(0)

    /// Each connection is served in a thread of its own, by a function that may send any bytes; when it returns, the
    /// connection is closed.
    init(connections serve: @escaping @Sendable (Connection, Server) throws -> Void) throws {
        let listener = tcpSocket()
        port = try bindToLoopback(listener)
        guard listen(listener, 128) == 0 else { throw Mismatch(reason: "the server cannot listen: \(errno)") }
        Thread.detachNewThread { [self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                let number = accepted.withLock { count in
                    defer { count += 1 }
                    return count
                }
                Thread.detachNewThread { try? serve(Connection(descriptor: descriptor, number: number), self) }
            }
        }
    }

    /// Answers each request on persistent connections.
    convenience init(_ answer: @escaping @Sendable (Request) -> Response) throws {
        try self.init { connection, server in
            while let request = try connection.request() {
                server.record(request)
                let response = answer(request)
                try connection.send(response.bytes)
                if response.closes { return }
            }
        }
    }

    /// Answers every request alike.
    convenience init(_ response: Response) throws {
        try self.init { _ in response }
    }

    func record(_ request: Request) {
        log.withLock { $0.append(request) }
    }

    var requests: [Request] { log.value }
    /// The methods and targets of the requests.
    var lines: [String] { requests.map { "\($0.method) \($0.target)" } }
    var connectionCount: Int { accepted.value }

    func url(_ path: String = "/") -> URL {
        URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// The same server as another host.
    func localhost(_ path: String = "/") -> URL {
        URL(string: "http://localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }
}

private func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    return address
}

private func tcpSocket() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }

/// The port that a socket is bound to.
private func bindToLoopback(_ descriptor: Int32) throws -> Int {
    var address = loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, length) != 0 || getsockname(descriptor, $0, &length) != 0
        }
    }
    guard !failed else { throw Mismatch(reason: "no port of loopback: \(errno)") }
    return Int(UInt16(bigEndian: address.sin_port))
}

/// A URL whose port refuses connections.
func refusedURL() throws -> URL {
    let descriptor = tcpSocket()
    defer { close(descriptor) }
    return try unwrap(URL(string: "http://127.0.0.1:\(bindToLoopback(descriptor))/"), "URL")
}

/// Whether something accepts connections at a port of loopback.
func isListening(_ port: Int) -> Bool {
    let descriptor = tcpSocket()
    defer { close(descriptor) }
    var address = loopback(port)
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
