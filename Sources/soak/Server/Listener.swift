import Foundation
import Glibc

/// A listening port of 127.0.0.1.
final class Listener: Sendable {
    struct Failure: Error {
        let code: Int32
    }

    let port: UInt16
    private let descriptor: Int32

    /// Small, because there are many threads.
    private static let stackSize = 256 * 1024

    init(isListening: Bool = true) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && (!isListening || listen(descriptor, 4096) == 0)
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isReady else { throw Failure(code: errno) }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
    }

    /// Calls `body` in a new thread for each connection, which `body` must close.
    func serve(_ body: @escaping @Sendable (Int32) -> Void) {
        Thread.detachNewThread { [descriptor] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else {
                    if errno == EMFILE || errno == ENFILE { usleep(1000) }
                    continue
                }
                var yes: Int32 = 1
                setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
                let thread = Thread { body(connection) }
                thread.stackSize = Self.stackSize
                thread.start()
            }
        }
    }
}
