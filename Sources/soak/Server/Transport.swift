import CLoadingOpenSSL
import Foundation
import Glibc

/// A blocking connection of the server, with or without TLS. Used by one thread.
final class Transport {
    private let descriptor: Int32
    private let session: OpaquePointer?
    private var isClosed = false

    /// Owns the descriptor. Returns nil if the TLS handshake fails.
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

    /// The number of bytes read; 0 at the end and after a failure.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if let session { return max(0, Int(SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count)))) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            if errno != EINTR { return 0 }
        }
    }

    /// Writes all bytes, and reports the progress after each write. Returns false if the client has closed the
    /// connection.
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

    /// Waits until the client has closed the connection.
    func waitForEnd() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            while read(into: buffer) > 0 {}
        }
    }

    /// Resets the connection.
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
