internal import CLoadingLinux
package import FoundationEssentials
internal import Glibc
internal import LoadingEvents
package import LoadingTransport

/// A connection that has left its loop. Its owner reads and writes with blocking calls, from one thread per direction.
/// Closed when it is deallocated.
///
/// A cleartext connection is its socket. A TLS connection uses a pair of local sockets, and a `StreamRelay` at the
/// other end encrypts on the loop.
package final class CapturedConnection: @unchecked Sendable {
    // Sendable because `rest` and `failure` are guarded by `lock`, and sockets may be used from any thread.
    private let descriptor: Int32
    private let lock = Lock()
    /// Bytes that were read before and are not consumed yet.
    private var rest: StreamBuffer
    private var failureCode: Int32 = 0

    package init(_ stream: ByteStream, rest: Data) {
        self.rest = StreamBuffer([UInt8](rest))
        if stream.isPlain {
            descriptor = stream.release() ?? -1
        } else {
            var ends: [Int32] = [-1, -1]
            let isMade = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
            descriptor = ends[0]
            if isMade {
                StreamRelay.start(between: stream, and: ends[1], for: self)
            } else {
                failureCode = cll_errno()
                stream.close()
            }
        }
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The errno that the connection failed with.
    package var failure: POSIXFailure? { lock.withLock { failureCode == 0 ? nil : POSIXFailure(failureCode) } }

    func fail(_ code: Int32) { lock.withLock { if failureCode == 0 { failureCode = code } } }

    /// Blocks until bytes arrive and returns their number: 0 at the end, −1 after a failure.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let known = lock.withLock { rest.read(into: buffer) }
        if known > 0 { return known }
        var count: Int
        repeat { count = recv(descriptor, buffer.baseAddress, buffer.count, 0) } while count < 0 && errno == EINTR
        if count < 0 { fail(errno) }
        // The relay sets the failure before it closes the socket.
        return count == 0 && failure != nil ? -1 : count
    }

    /// Blocks until the kernel accepts bytes and returns their number; −1 after a failure.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        var count: Int
        repeat {
            count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        } while count < 0 && errno == EINTR
        if count < 0 { fail(errno) }
        return count
    }

    /// Whether a read would return bytes or the end without blocking.
    package var mayRead: Bool { lock.withLock { rest.count > 0 } || isReady(Int32(POLLIN)) }

    /// Whether a write would accept bytes without blocking.
    package var mayWrite: Bool { isReady(Int32(POLLOUT)) }

    private func isReady(_ events: Int32) -> Bool {
        // There is a failure to read.
        if descriptor < 0 { return true }
        var asked = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return poll(&asked, 1, 0) > 0
    }

    /// Closes a direction. A call that blocks in it returns.
    package func closeReading() {
        lock.withLock { rest.removeAll() }
        shutdown(descriptor, Int32(SHUT_RD))
    }

    package func closeWriting() { shutdown(descriptor, Int32(SHUT_WR)) }
}
