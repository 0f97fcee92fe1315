import Foundation
import Glibc

/// A connection that the server has accepted. Its calls block; each connection has its own thread.
final class Connection {
    struct Ended: Error {}

    /// Counted from 0.
    let number: Int
    private let descriptor: Int32
    private var buffer = Data()

    init(descriptor: Int32, number: Int) {
        self.descriptor = descriptor
        self.number = number
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Data(text.utf8)) }

    func send(_ bytes: Data) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Ended() }
            rest = rest.dropFirst(count)
        }
    }

    /// Ends with a reset instead of the orderly end.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }

    /// Nil at the end of the connection.
    func request() throws -> Request? {
        guard let head = try text(before: "\r\n\r\n") else { return nil }
        var lines = head.components(separatedBy: "\r\n")
        let start = lines.removeFirst().components(separatedBy: " ")
        guard start.count == 3 else { throw Ended() }
        let fields = lines.map { line -> (name: String, value: String) in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
        }
        var request = Request(method: start[0], target: start[1], fields: fields, body: Data(), connection: number)
        if request.value("Expect")?.lowercased() == "100-continue" { try send("HTTP/1.1 100 Continue\r\n\r\n") }
        if request.value("Transfer-Encoding")?.lowercased() == "chunked" {
            while let line = try text(before: "\r\n"), let size = Int(line, radix: 16) {
                request.body += try bytes(size)
                _ = try bytes(2)
                if size == 0 { break }
            }
        } else if let length = request.value("Content-Length").flatMap(Int.init) {
            request.body = try bytes(length)
        }
        return request
    }

    /// Blocks until the other side has ended the connection.
    func waitForEnd() {
        while (try? receive()) == true { buffer.removeAll() }
    }

    func bytes(_ count: Int) throws -> Data {
        while buffer.count < count { guard try receive() else { throw Ended() } }
        defer { buffer = Data(buffer.dropFirst(count)) }
        return Data(buffer.prefix(count))
    }

    private func text(before delimiter: String) throws -> String? {
        let delimiter = Data(delimiter.utf8)
        while true {
            if let range = buffer.range(of: delimiter) {
                defer { buffer = Data(buffer[range.upperBound...]) }
                return String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
            }
            guard try receive() else { return nil }
        }
    }

    /// False at the end.
    private func receive() throws -> Bool {
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count >= 0 else { throw Ended() }
        buffer += piece[..<count]
        return count > 0
    }
}
