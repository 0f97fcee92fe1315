import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A minimal blocking HTTP/1.1 server on loopback, with a thread for each connection. For the demo only.
///
/// Unchecked: `lock` guards the descriptors; the rest never changes after `init`.
package final class DemoServer: @unchecked Sendable {
    package let port: UInt16
    private let listener: Int32
    private let lock = NSLock()
    private var connections: Set<Int32> = []
    private var isStopped = false
    private let threads = DispatchGroup()
    private let downloadSize: Int64

    package init(downloadSize: Int64) throws(FileError) {
        self.downloadSize = downloadSize
        (listener, port) = try Self.listen()
        inThread { $0.acceptConnections() }
    }

    package var baseURL: String { "http://127.0.0.1:\(port)" }

    /// A local port without a listener. Another process could start to use it at any time.
    package static func unusedPort() throws(FileError) -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }

    /// Closes all connections and joins all threads.
    package func stop() {
        lock.withLock {
            isStopped = true
            shutdown(listener, Int32(SHUT_RDWR))
            for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        threads.wait()
        close(listener)
    }

    private static func listen() throws(FileError) -> (descriptor: Int32, port: UInt16) {
        #if canImport(Musl)
            let descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw FileError(path: "a socket", code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && Self.startListening(descriptor)
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isReady else {
            let code = errno
            close(descriptor)
            throw FileError(path: "a port of 127.0.0.1", code: code)
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func startListening(_ descriptor: Int32) -> Bool {
        #if canImport(Musl)
            Musl.listen(descriptor, 16) == 0
        #else
            Glibc.listen(descriptor, 16) == 0
        #endif
    }

    private func inThread(_ body: @escaping @Sendable (DemoServer) -> Void) {
        threads.enter()
        Thread.detachNewThread { [self] in
            body(self)
            threads.leave()
        }
    }

    private func acceptConnections() {
        while true {
            let descriptor = accept(listener, nil, nil)
            if descriptor < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            let isWelcome = lock.withLock { () -> Bool in
                guard !isStopped else { return false }
                connections.insert(descriptor)
                return true
            }
            guard isWelcome else {
                close(descriptor)
                return
            }
            inThread { server in
                var connection = DemoConnection(descriptor: descriptor, downloadSize: server.downloadSize)
                connection.serve()
                server.lock.withLock { _ = server.connections.remove(descriptor) }
                close(descriptor)
            }
        }
    }
}
