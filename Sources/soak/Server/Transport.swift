import CLoadingOpenSSL
import Foundation
import Glibc

/// A blocking connection of the server's, in clear or over TLS. Used by one thread.
final class Transport {
    private let descriptor: Int32
    private let session: OpaquePointer?
    private var isClosed = false

    /// Owns the descriptor. Nil when the TLS handshake fails.
    init?(_ descriptor: Int32, tls context: OpaquePointer?) {
        self.descriptor = descriptor
        guard let context else {
            session = nil
            return
        }
        session = SSL_new(context)
        guard SSL_set_fd(session, descriptor) == 1, SSL_accept(session) == 1 else {
            close(sayingGoodbye: false)
            return nil
        }
    }

    deinit { close() }

    /// How many bytes came; zero at the end and after a failure.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if let session { return max(0, Int(SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count)))) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            if errno != EINTR { return 0 }
        }
    }

    /// Writes all of it, telling after each write how much went. False when the client is gone.
    @discardableResult
    func write(_ bytes: UnsafeRawBufferPointer, _ wrote: (Int) -> Void = { _ in }) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count: Int
            if let session {
                count = Int(SSL_write(session, rest.baseAddress, Int32(clamping: rest.count)))
            } else {
                count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
                if count < 0, errno == EINTR { continue }
            }
            guard count > 0 else { return false }
            wrote(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// Waits until the client has gone.
    func waitForEnd() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            while read(into: buffer) > 0 {}
        }
    }

    /// Ends the connection with a reset.
    func reset() {
        var immediately = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &immediately, socklen_t(MemoryLayout<linger>.size))
        close(sayingGoodbye: false)
    }

    func close(sayingGoodbye: Bool = true) {
        guard !isClosed else { return }
        isClosed = true
        if let session {
            if sayingGoodbye { SSL_shutdown(session) }
            SSL_free(session)
        }
        Glibc.close(descriptor)
    }
}
