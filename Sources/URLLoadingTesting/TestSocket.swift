internal import CLoadingLinux
internal import CLoadingTestTLS
internal import Foundation
internal import Glibc

/// The bytes of one connection of a server, in clear or over TLS. Its methods block.
///
/// One thread reads, and any thread may write: each call of `write` sends its bytes together.
final class TestSocket: @unchecked Sendable {
    // Sendable: `lock` guards the use of `tls`, which is set before another thread uses the socket, and `ending` the
    // rest.
    private let descriptor: Int32
    private var tls: OpaquePointer?
    private let lock = NSLock()
    private let ending = NSLock()
    private var isClosed = false
    private var isReset = false
    /// How many calls use the descriptor. It is closed after the last one, because a new descriptor may get its number.
    private var users = 0

    /// The connection has ended.
    struct Ended: Error {}

    /// - Parameter descriptor: Closed by `close`.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { cltt_stream_free(tls) }

    var isSecure: Bool { tls != nil }
    /// Whether the client has chosen HTTP/2.
    var isHTTP2: Bool { tls.map { cltt_is_http2($0) } ?? false }

    /// Waits for the first byte, and makes the handshake if the client begins one. False if the connection has ended.
    func open(_ authority: TestAuthority, _ fault: TestServer.CertificateFault?, offersHTTP2: Bool) -> Bool {
        // OpenSSL waits for the client by itself.
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)
        var first: UInt8 = 0
        guard recv(descriptor, &first, 1, Int32(MSG_PEEK)) == 1 else { return false }
        // The first byte of a TLS record with a handshake.
        if first == 0x16 {
            tls = cltt_accept(authority.pointer, descriptor, Int32(fault.code), offersHTTP2)
            guard tls != nil else { return false }
        }
        // From here on no thread may wait with the lock, except for a client that takes nothing.
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        return true
    }

    /// Calls the body while the descriptor is open. Nil after `close`.
    @discardableResult
    private func withDescriptor<Value>(_ body: () throws -> Value) rethrows -> Value? {
        let isOpen = ending.withLock {
            if !isClosed { users += 1 }
            return !isClosed
        }
        guard isOpen else { return nil }
        defer {
            ending.withLock {
                users -= 1
                closeIfUnused()
            }
        }
        return try body()
    }

    /// With `ending`.
    private func closeIfUnused() { if isClosed, users == 0 { _ = Glibc.close(descriptor) } }

    /// What has arrived, at least one byte. Nil at the end.
    func read() -> [UInt8]? { withDescriptor { readOpen() } ?? nil }

    private func readOpen() -> [UInt8]? {
        let size = 65_536
        while true {
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                result = lock.withLock {
                    if let tls { return cltt_read(tls, buffer.baseAddress, size) }
                    return Self.result(recv(descriptor, buffer.baseAddress, size, 0))
                }
                count = max(0, result)
            }
            if result > 0 { return bytes }
            guard result == CLTT_LATER, wait(for: POLLIN) else { return nil }
        }
    }

    func write(_ bytes: [UInt8]) throws {
        let isOpen: Void? = try withDescriptor { try lock.withLock { try writeOpen(bytes) } }
        if isOpen == nil { throw Ended() }
    }

    private func writeOpen(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let result =
                    if let tls {
                        cltt_write(tls, part.baseAddress, part.count)
                    } else {
                        Self.result(send(descriptor, part.baseAddress, part.count, Int32(MSG_NOSIGNAL)))
                    }
                if result > 0 {
                    rest = rest.dropFirst(result)
                } else if result != CLTT_LATER || !wait(for: POLLOUT) {
                    throw Ended()
                }
            }
        }
    }

    /// The result of a system call as that of the functions for TLS.
    private static func result(_ count: Int) -> Int {
        if count >= 0 { return count }
        return errno == EAGAIN || errno == EINTR ? Int(CLTT_LATER) : 0
    }

    private func wait(for events: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while poll(&entry, 1, -1) < 0 { guard errno == EINTR else { return false } }
        return true
    }

    /// Whether the client has closed the connection, for the thread that reads. Bytes that it sent before may still be
    /// unread.
    var hasClientGone: Bool {
        let isGone = withDescriptor {
            // The bits of epoll are those of poll.
            var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: cll_hangup_bits()), revents: 0)
            return poll(&entry, 1, 0) > 0
        }
        return isGone ?? true
    }

    // MARK: End

    /// Ends the connection in both directions, so that no thread waits for it any more.
    func interrupt() { withDescriptor { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }

    /// Sends close_notify, if the connection uses TLS and is not to be reset.
    func finish() {
        if ending.withLock({ isReset }) { return }
        withDescriptor { lock.withLock { if let tls { cltt_close(tls) } } }
    }

    /// Lets `close` reset the connection.
    func resetWhenClosed() {
        ending.withLock { isReset = true }
        withDescriptor {
            var now = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        }
    }

    /// Closes the descriptor, after the calls that use it. Called once.
    func close() {
        // Otherwise a thread may wait for the client. A reset is all that its client gets.
        if !ending.withLock({ isReset }) { interrupt() }
        ending.withLock {
            isClosed = true
            closeIfUnused()
        }
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
