import Glibc
import TestSupport

/// A plain blocking client, which does what a test calls and nothing more.
final class RawClient {
    private let descriptor: Int32
    private var isOpen = true

    init(port: Int, receiveBufferSize: Int? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if let receiveBufferSize {
            var size = Int32(receiveBufferSize)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let code = withUnsafeBytes(of: &address) {
            connect(descriptor, $0.bindMemory(to: sockaddr.self).baseAddress, socklen_t($0.count))
        }
        guard code == 0 else {
            let failure = POSIXFailure("connect")
            Glibc.close(descriptor)
            isOpen = false
            throw failure
        }
    }

    deinit {
        close()
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw POSIXFailure("send")
        }
    }

    /// At most so many bytes; empty at the end.
    func receive(_ capacity: Int = 65_536) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: capacity)
        let count = recv(descriptor, &bytes, capacity, 0)
        guard count >= 0 else { throw POSIXFailure("recv") }
        return Array(bytes.prefix(count))
    }

    func receive(exactly count: Int) throws -> String {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try receive(count - bytes.count)
            if more.isEmpty { break }
            bytes += more
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func receiveToEnd() throws -> String {
        var bytes: [UInt8] = []
        while true {
            let more = try receive()
            if more.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += more
        }
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }

    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }
}
