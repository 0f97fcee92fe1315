internal import CLoadingLinux
internal import Glibc

/// A connected byte stream on a loop: a TCP socket, with TLS over it after `secure(with:)`, and with a second TLS layer
/// over that through an https proxy.
///
/// Reads and writes never block. The stream records the readiness that the kernel reported, so a read that would
/// block costs no system call. Back-pressure needs only to stop reading: the socket's buffer fills, and the peer's
/// window closes. Confined to its loop. Must be closed; closing again has no effect.
///
/// Exclusive access is not checked: the properties are only assigned and read.
@usableFromInline
package final class ByteStream: ReadinessHandler {
    package let loop: EventLoop
    /// Notified of readiness. A strong reference until `close()`.
    @exclusivity(unchecked) package var owner: (any ByteStreamOwner)?
    @exclusivity(unchecked) package private(set) var tls: TLSStream?

    package let descriptor: Int32
    private var registration: LoopRegistration?
    @exclusivity(unchecked) @usableFromInline var mayRead = false
    private var mayWrite = false
    private var hasHungUp = false
    private var isCalledAgain = false

    /// Starts connecting to an address. The owner is notified when the outcome is known, which `finishConnecting()`
    /// returns. Throws the errno of the failed call.
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
        // Best effort: the connection works without the traffic class.
        if service.trafficClass != 0 { _ = cll_traffic_class(descriptor, isIPv6 ? 1 : 0, Int32(service.trafficClass)) }
        let result = address.withSockaddr { pointer, length in
            Glibc.connect(descriptor, pointer.assumingMemoryBound(to: sockaddr.self), length)
        }
        let code = result == 0 ? 0 : cll_errno()
        guard [0, EINPROGRESS, EINTR].contains(code) else {
            Glibc.close(descriptor)
            throw POSIXFailure(code)
        }
        return try register(descriptor, on: loop, owner: owner)
    }

    /// The same for a local socket (unix(7)). A path that begins with NUL is a name in the abstract namespace.
    package static func connect(
        toPath path: String, on loop: EventLoop, owner: any ByteStreamOwner
    ) throws(POSIXFailure) -> ByteStream {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // A path needs its NUL; a name ends with the length.
        let isAbstract = bytes.first == 0
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw POSIXFailure(ENAMETOOLONG) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let headSize = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? MemoryLayout<sa_family_t>.size
        let length = socklen_t(headSize + bytes.count + (isAbstract ? 0 : 1))
        let descriptor = cll_stream_socket(AF_UNIX, 0)
        guard descriptor >= 0 else { throw POSIXFailure(cll_errno()) }
        guard !DescriptorReserve.contains(descriptor) else {
            Glibc.close(descriptor)
            throw POSIXFailure(EMFILE)
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, length) }
        }
        guard result == 0 else {
            // EAGAIN: the queue of the server is full.
            let code = cll_errno()
            Glibc.close(descriptor)
            throw POSIXFailure(code)
        }
        return try register(descriptor, on: loop, owner: owner)
    }

    /// Makes the stream of a socket for which `connect` was called; closes the socket if that fails.
    ///
    /// The kernel reports a socket that is not even connecting as writable and hung up. While the loop is borrowed, its
    /// own thread would fetch that event, and `finishConnecting()` would take it for an established connection.
    private static func register(
        _ descriptor: Int32, on loop: EventLoop, owner: any ByteStreamOwner
    ) throws(POSIXFailure) -> ByteStream {
        guard let stream = ByteStream(descriptor: descriptor, loop: loop, owner: owner) else {
            let failure = POSIXFailure(cll_errno())
            Glibc.close(descriptor)
            throw failure
        }
        return stream
    }

    /// Wraps a connected, non-blocking socket of any kind and takes ownership of it. Returns nil, with errno set and
    /// without ownership, if the loop cannot register it.
    package init?(descriptor: Int32, loop: EventLoop, owner: any ByteStreamOwner) {
        self.descriptor = descriptor
        self.loop = loop
        self.owner = owner
        guard let registration = loop.register(descriptor, self) else { return nil }
        self.registration = registration
    }

    package var isClosed: Bool { registration == nil }

    /// The outcome of `connect`; nil while it is pending.
    package func finishConnecting() -> Result<Void, POSIXFailure>? {
        guard mayWrite || hasHungUp else { return nil }
        let code = cll_socket_error(descriptor)
        return code == 0 ? .success(()) : .failure(POSIXFailure(code))
    }

    /// Starts TLS over the connected socket. The owner then calls `handshake()` until it is complete.
    package func secure(with tls: TLSStream) { self.tls = tls }

    package func handshake() -> TLSHandshakeStep {
        guard let tls else { return .complete }
        let step = tls.handshake()
        switch step {
        case .wantsRead: mayRead = false
        case .wantsWrite: mayWrite = false
        // The peer's part may have been read before the loop was notified that it is there, and it is not notified
        // afterwards.
        case .wantsTrust, .wantsIdentity, .complete, .failed: lastArrival = loop.now
        }
        return step
    }

    // MARK: Reading and writing

    /// Reads available bytes, at most the size of the buffer.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        guard mayRead, registration != nil else { return .wouldBlock }
        if let tls { return read(tls, into: buffer) }
        let count = cll_recv(descriptor, buffer.baseAddress, buffer.count)
        if count > 0 {
            // A short read empties the socket buffer. After a hang-up, the end of the stream still has to be read.
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
        while true {
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
                // A post-handshake request for a certificate. No certificate is sent, and the server decides how to
                // proceed. It may ask again; `TLSStream` bounds how often.
                tls.provideIdentity(nil)
            case .end: return .end
            case .truncated: return .truncated
            case .failed(let error): return .failed(.tls(error))
            }
        }
    }

    /// Whether the stream can be spliced with a file, because no TLS layer transforms the bytes.
    package var isPlain: Bool { tls == nil }
    /// Whether the default evaluation trusts the server; false without TLS. Read here, because other modules would
    /// check exclusive access.
    package var isTrusted: Bool { tls?.isTrusted ?? false }

    /// Moves available bytes from a socket without TLS into an empty pipe.
    package func splice(into pipe: Int32, most: Int) -> StreamRead {
        guard mayRead, registration != nil else { return .wouldBlock }
        let count = cll_splice(descriptor, pipe, most)
        // A short count may mean that the pipe is full, so the stream stays readable.
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        let code = cll_errno()
        if code == EAGAIN || code == EWOULDBLOCK {
            mayRead = false
            return .wouldBlock
        }
        return .failed(.posix(POSIXFailure(code)))
    }

    /// Writes as much as the socket accepts.
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

    /// Moves bytes from a pipe to a socket without TLS.
    package func splice(from pipe: Int32, most: Int) -> StreamWrite {
        guard mayWrite, registration != nil else { return .wouldBlock }
        let count = cll_splice_to_socket(pipe, descriptor, most)
        // A short count is normal, because pages are moved individually.
        if count > 0 { return .bytes(count) }
        let code = count == 0 ? EPIPE : cll_errno()
        if code == EAGAIN || code == EWOULDBLOCK {
            mayWrite = false
            return .wouldBlock
        }
        return writeFailed(.posix(POSIXFailure(code)))
    }

    /// The peer may have sent data before it closed the connection, of which the loop was not notified yet. So the next
    /// read calls the kernel, and reading continues up to the end of the stream.
    private func writeFailed(_ failure: StreamFailure) -> StreamWrite {
        mayRead = true
        hasHungUp = true
        return .failed(failure)
    }

    /// Whether a read may return data. False after a read that emptied the socket.
    @inlinable package var mayHaveMore: Bool { mayRead }

    /// Whether the peer has neither sent anything nor closed the stream. Calls the kernel, because the loop may not
    /// have been notified yet. If the result is false, a byte may have been consumed, so the stream must be closed.
    package var isSilent: Bool {
        guard registration != nil else { return false }
        if tls == nil {
            let isSilent = cll_is_silent(descriptor) == 1
            if isSilent { mayRead = false }
            return isSilent
        }
        // With TLS, the data may belong to TLS itself, such as a session ticket, which reading consumes.
        mayRead = true
        var byte: UInt8 = 0
        let result = withUnsafeMutableBytes(of: &byte) { read(into: $0) }
        if case .wouldBlock = result { return true }
        return false
    }

    /// Whether the kernel has data or the end of the stream, of which the loop may not have been notified yet.
    package var hasPendingInput: Bool {
        guard registration != nil else { return false }
        if cll_is_silent(descriptor) != 1 { mayRead = true }
        return mayRead
    }

    /// Notifies the owner in the next turn, once, although the readiness has not changed.
    package func callAgain() {
        if isCalledAgain { return }
        isCalledAgain = true
        loop.callAgain(self)
    }

    package func becameReady(_ readiness: Readiness) {
        isCalledAgain = false
        if readiness.contains(.readable) {
            mayRead = true
            lastArrival = loop.now
        }
        if readiness.contains(.writable) { mayWrite = true }
        if readiness.contains(.hangup) { hasHungUp = true }
        owner?.streamBecameReady(self)
    }

    /// Closes the sending direction. Returns false if TLS cannot write its close_notify yet; call it again when the
    /// stream is writable.
    package func closeWriting() -> Bool {
        guard registration != nil else { return true }
        if let tls, !tls.shutdown() {
            mayWrite = false
            return false
        }
        Glibc.shutdown(descriptor, Int32(SHUT_WR))
        return true
    }

    /// Gives up the descriptor, which the caller must close. Returns nil if the stream is closed.
    package func release() -> Int32? {
        guard let registration else { return nil }
        self.registration = nil
        owner = nil
        tls = nil
        loop.unregister(descriptor, registration)
        return descriptor
    }

    /// Closes the stream. With TLS, sends close_notify if that is possible without waiting.
    package func close() {
        guard let registration else { return }
        self.registration = nil
        owner = nil
        _ = tls?.shutdown()
        tls = nil
        loop.unregister(descriptor, registration)
        Glibc.close(descriptor)
    }

    // MARK: State

    /// The loop's time at which bytes last arrived, though they may not be a whole TLS record or line yet. 0 before the
    /// first.
    @exclusivity(unchecked) package private(set) var lastArrival: Int64 = 0

    /// The number of bytes that the peer has acknowledged, including TLS overhead. 0 for sockets other than TCP.
    package var bytesAcknowledged: UInt64 { registration == nil ? 0 : cll_bytes_taken(descriptor) }

    /// What the peer has acknowledged. With Multipath TCP only `outstanding` is known. Nil if the socket does not
    /// report it.
    package var acknowledgement: Acknowledgement? {
        guard registration != nil, case let outstanding = cll_outgoing(descriptor), outstanding >= 0 else { return nil }
        return Acknowledgement(acknowledged: isMultipath ? 0 : bytesAcknowledged, outstanding: UInt64(outstanding))
    }

    package var localAddress: SocketAddress? {
        address { cll_getsockname(descriptor, $0, $1) }
    }

    /// The local addresses: with Multipath TCP, those of all subflows.
    package var localAddresses: [SocketAddress] {
        guard isMultipath else { return localAddress.map { [$0] } ?? [] }
        var subflows = [sockaddr_storage](repeating: sockaddr_storage(), count: Self.maximumSubflows)
        let count = min(
            Int(cll_local_addresses_of_subflows(descriptor, &subflows, Int32(subflows.count))), subflows.count)
        // A connection without subflows may report none, or an unspecified address.
        guard count > 0 else { return localAddress.map { [$0] } ?? [] }
        return subflows.prefix(count).compactMap { subflow in
            withUnsafeBytes(of: subflow) { bytes in
                bytes.baseAddress.flatMap { SocketAddress(sockaddr: $0, count: bytes.count) }
            }
        }
    }

    /// Whether Multipath TCP was negotiated (RFC 8684). Requires Linux 5.16 or later; earlier kernels report false.
    package var isMultipath: Bool { registration != nil && cll_is_multipath(descriptor) != 0 }

    /// Exceeds the kernel's limit of subflows.
    private static let maximumSubflows = 16

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

/// Notified on the loop when a stream becomes readable or writable, and when a connect completes.
package protocol ByteStreamOwner: AnyObject {
    func streamBecameReady(_ stream: ByteStream)
}
