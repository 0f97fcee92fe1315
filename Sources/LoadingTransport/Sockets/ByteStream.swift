internal import CLoadingLinux
internal import Glibc

/// A connected stream of bytes on a loop: a TCP socket, with TLS over it once `secure(with:)` was called, and TLS over that
/// where it leads through a proxy's.
///
/// Reads and writes never block. The stream remembers what the kernel last said, so a read that would block costs no
/// system call. Not reading is all that back-pressure needs: the socket's buffer fills and the peer's window closes.
/// Confined to its loop; closed explicitly, exactly once counts.
package final class ByteStream: ReadinessHandler {
    package let loop: EventLoop
    /// Who is told of readiness. Held strongly until `close()`.
    package var owner: (any ByteStreamOwner)?
    package private(set) var tls: TLSStream?

    package let descriptor: Int32
    private var registration: LoopRegistration?
    private var mayRead = false
    private var mayWrite = false
    private var hasHungUp = false

    /// Starts connecting to an address. The owner is told when the outcome is known; `finishConnecting()` has it.
    /// Throws the errno of the call that failed.
    package static func connect(
        to address: SocketAddress, treatedAs service: NetworkService = .ordinary, on loop: EventLoop,
        owner: any ByteStreamOwner
    ) throws(POSIXFailure) -> ByteStream {
        let isIPv6 = address.family == .ipv6
        let descriptor = cll_stream_socket(isIPv6 ? AF_INET6 : AF_INET, service.isMultipath ? 1 : 0)
        guard descriptor >= 0 else { throw POSIXFailure(cll_errno()) }
        guard !DescriptorReserve.contains(descriptor) else {
            Glibc.close(descriptor)
            throw POSIXFailure(EMFILE)
        }
        _ = cll_no_delay(descriptor)
        // A hint: where it is not allowed, the connection is like any other.
        if service.trafficClass != 0 { _ = cll_traffic_class(descriptor, isIPv6 ? 1 : 0, Int32(service.trafficClass)) }
        guard let stream = ByteStream(descriptor: descriptor, loop: loop, owner: owner) else {
            let failure = POSIXFailure(cll_errno())
            Glibc.close(descriptor)
            throw failure
        }
        let result = address.withSockaddr { pointer, length in
            Glibc.connect(descriptor, pointer.assumingMemoryBound(to: sockaddr.self), length)
        }
        if result != 0 {
            let code = cll_errno()
            if code != EINPROGRESS && code != EINTR {
                stream.close()
                throw POSIXFailure(code)
            }
        }
        return stream
    }

    /// A stream over a connected socket of whatever kind, which does not block, and which it takes over. Nil, with errno
    /// set and nothing taken over, when the kernel refuses.
    package init?(descriptor: Int32, loop: EventLoop, owner: any ByteStreamOwner) {
        self.descriptor = descriptor
        self.loop = loop
        self.owner = owner
        guard let registration = loop.register(descriptor, self) else { return nil }
        self.registration = registration
    }

    package var isClosed: Bool { registration == nil }

    /// The outcome of `connect`, once the stream is ready: nil while it is not known.
    package func finishConnecting() -> Result<Void, POSIXFailure>? {
        guard mayWrite || hasHungUp else { return nil }
        let code = cll_socket_error(descriptor)
        return code == 0 ? .success(()) : .failure(POSIXFailure(code))
    }

    /// Puts TLS over the connected socket. From now on the owner drives `handshake()` until it is complete.
    package func secure(with tls: TLSStream) { self.tls = tls }

    package func handshake() -> TLSHandshakeStep {
        guard let tls else { return .complete }
        let step = tls.handshake()
        switch step {
        case .wantsRead: mayRead = false
        case .wantsWrite: mayWrite = false
        default: break
        }
        return step
    }

    // MARK: Reading and writing

    /// Reads what is there, at most what fits.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        guard mayRead, registration != nil else { return .wouldBlock }
        if let tls { return read(tls, into: buffer) }
        let count = cll_recv(descriptor, buffer.baseAddress, buffer.count)
        if count > 0 {
            // A short read empties a socket; only a peer that has hung up still owes us its end.
            if count < buffer.count && !hasHungUp { mayRead = false }
            return .bytes(count)
        }
        if count == 0 { return .end }
        let code = cll_errno()
        if code == EAGAIN || code == EWOULDBLOCK {
            mayRead = false
            return .wouldBlock
        }
        return .failed(.posix(POSIXFailure(code)))
    }

    private func read(_ tls: TLSStream, into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        switch tls.read(into: buffer) {
        case .bytes(let count):
            if tls.isDrained && !hasHungUp { mayRead = false }
            return .bytes(count)
        case .wouldBlock:
            mayRead = false
            return .wouldBlock
        case .wantsWrite:
            mayWrite = false
            return .wouldBlock
        case .wantsIdentity:
            // Asked in mid-connection, when it is too late to ask the caller: the server decides what it means.
            tls.provideIdentity(nil)
            return read(tls, into: buffer)
        case .end: return .end
        case .truncated: return .truncated
        case .failed(let error): return .failed(.tls(error))
        }
    }

    /// Whether bytes can go between the socket and a file without being looked at.
    package var isPlain: Bool { tls == nil }

    /// Moves what is there, at most so many bytes, from the plain socket into a pipe, which has to be empty.
    package func splice(into pipe: Int32, most: Int) -> StreamRead {
        guard mayRead, registration != nil else { return .wouldBlock }
        let count = cll_splice(descriptor, pipe, most)
        // A short count says nothing: the pipe may be what is full.
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        let code = cll_errno()
        if code == EAGAIN || code == EWOULDBLOCK {
            mayRead = false
            return .wouldBlock
        }
        return .failed(.posix(POSIXFailure(code)))
    }

    /// Writes as much as the socket takes.
    package func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite {
        guard mayWrite, registration != nil else { return .wouldBlock }
        if let tls {
            switch tls.write(bytes) {
            case .bytes(let count): return .bytes(count)
            case .wouldBlock:
                mayWrite = false
                return .wouldBlock
            case .wantsRead: return .wouldBlock
            case .failed(let error): return writeFailed(.tls(error))
            }
        }
        let count = cll_send(descriptor, bytes.baseAddress, bytes.count)
        if count >= 0 {
            if count < bytes.count { mayWrite = false }
            return .bytes(count)
        }
        let code = cll_errno()
        if code == EAGAIN || code == EWOULDBLOCK {
            mayWrite = false
            return .wouldBlock
        }
        return writeFailed(.posix(POSIXFailure(code)))
    }

    /// Moves at most so many bytes from a pipe, which has them, to the plain socket.
    package func splice(from pipe: Int32, most: Int) -> StreamWrite {
        guard mayWrite, registration != nil else { return .wouldBlock }
        let count = cll_splice_to_socket(pipe, descriptor, most)
        // A short count says nothing: pages go one by one.
        if count > 0 { return .bytes(count) }
        let code = count == 0 ? EPIPE : cll_errno()
        if code == EAGAIN || code == EWOULDBLOCK {
            mayWrite = false
            return .wouldBlock
        }
        return writeFailed(.posix(POSIXFailure(code)))
    }

    /// The peer may have sent something before it closed the connection, and the loop may not have heard of that yet. So the
    /// next read asks the kernel, and reading ends only with the end of the connection.
    private func writeFailed(_ failure: StreamFailure) -> StreamWrite {
        mayRead = true
        hasHungUp = true
        return .failed(failure)
    }

    /// Whether a read may bring something; false after a read that emptied the socket.
    package var mayHaveMore: Bool { mayRead }

    /// Whether the peer of an open stream has neither ended it nor said anything. The kernel is asked, since the loop may
    /// not have heard yet. A stream that is not silent is good for nothing but to be closed: a byte may be gone.
    package var isSilent: Bool {
        guard registration != nil else { return false }
        if tls == nil {
            let isSilent = cll_is_silent(descriptor) == 1
            if isSilent { mayRead = false }
            return isSilent
        }
        // Over TLS what came may be TLS's own, such as a session ticket, which reading takes away.
        mayRead = true
        var byte: UInt8 = 0
        let result = withUnsafeMutableBytes(of: &byte) { read(into: $0) }
        if case .wouldBlock = result { return true }
        return false
    }

    /// Whether the kernel has something of the peer's, or its end, that the loop may not have heard of yet; a read brings it.
    package var hasPendingInput: Bool {
        guard registration != nil else { return false }
        if cll_is_silent(descriptor) != 1 { mayRead = true }
        return mayRead
    }

    /// Has the owner called in the next turn though the kernel has nothing new to say.
    package func callAgain() { loop.callAgain(self) }

    package func becameReady(_ readiness: Readiness) {
        if readiness.contains(.readable) { mayRead = true }
        if readiness.contains(.writable) { mayWrite = true }
        if readiness.contains(.hangup) { hasHungUp = true }
        owner?.streamBecameReady(self)
    }

    /// Tells the peer that nothing more is written, and leaves the other direction open. False when the socket has no room
    /// for saying so over TLS: then once more when it may be written.
    package func closeWriting() -> Bool {
        guard registration != nil else { return true }
        if let tls, !tls.shutdown() {
            mayWrite = false
            return false
        }
        Glibc.shutdown(descriptor, Int32(SHUT_WR))
        return true
    }

    /// Gives the descriptor away, which is the caller's to close from now on; nil when the stream is closed.
    package func release() -> Int32? {
        guard let registration else { return nil }
        self.registration = nil
        owner = nil
        tls = nil
        loop.unregister(descriptor, registration)
        return descriptor
    }

    /// Ends the stream, telling a TLS peer so if that can be done at once.
    package func close() {
        guard let registration else { return }
        self.registration = nil
        owner = nil
        _ = tls?.shutdown()
        tls = nil
        loop.unregister(descriptor, registration)
        Glibc.close(descriptor)
    }

    // MARK: Facts

    /// How many bytes, TLS's own among them, the peer has taken so far. Of a socket that is not TCP's it is always 0.
    package var bytesAcknowledged: UInt64 { registration == nil ? 0 : cll_bytes_taken(descriptor) }

    /// Of several ways together only what is outstanding is known. nil of a socket that does not tell.
    package var acknowledgement: Acknowledgement? {
        guard registration != nil, case let outstanding = cll_outgoing(descriptor), outstanding >= 0 else { return nil }
        return Acknowledgement(taken: isMultipath ? 0 : bytesAcknowledged, outstanding: UInt64(outstanding))
    }

    package var localAddress: SocketAddress? {
        address { cll_getsockname(descriptor, $0, $1) }
    }

    /// From where it goes: the addresses of all its ways where the kernel has several for it.
    package var localAddresses: [SocketAddress] {
        guard isMultipath else { return localAddress.map { [$0] } ?? [] }
        var ways = [sockaddr_storage](repeating: sockaddr_storage(), count: Self.mostWays)
        let count = min(Int(cll_local_addresses_of_ways(descriptor, &ways, Int32(ways.count))), ways.count)
        // One that has lost all may have none, or one from nowhere.
        guard count > 0 else { return localAddress.map { [$0] } ?? [] }
        return ways.prefix(count).compactMap { way in
            withUnsafeBytes(of: way) { bytes in
                bytes.baseAddress.flatMap { SocketAddress(sockaddr: $0, count: bytes.count) }
            }
        }
    }

    /// Whether client and server have agreed on several ways at once (RFC 8684), which kernels tell from 5.16 on.
    package var isMultipath: Bool { registration != nil && cll_is_multipath(descriptor) != 0 }

    /// More than the kernel has for one connection.
    private static let mostWays = 16

    package var remoteAddress: SocketAddress? {
        address { cll_getpeername(descriptor, $0, $1) }
    }

    private func address(
        _ ask: (UnsafeMutablePointer<sockaddr_storage>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        guard ask(&storage, &length) == 0 else { return nil }
        return withUnsafeBytes(of: &storage) { bytes in
            bytes.baseAddress.flatMap { SocketAddress(sockaddr: $0, count: Int(length)) }
        }
    }
}
