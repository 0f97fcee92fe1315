internal import CLoadingLinux
internal import Glibc

/// A UDP socket on a loop that speaks with one peer. Reads and writes never block. Confined to its loop; closed explicitly.
package final class DatagramSocket: ReadinessHandler {
    package let loop: EventLoop
    /// Who is told of readiness. Held strongly until `close()`.
    package var owner: (any DatagramSocketOwner)?
    package let localAddress: SocketAddress
    package let remoteAddress: SocketAddress

    private let descriptor: Int32
    private var registration: LoopRegistration?
    private var mayRead = false
    private var mayWrite = true
    /// Whether the kernel cuts what is sent into datagrams.
    private var cutsInKernel = true

    /// What a burst of a fast peer may have waiting: the kernel gives as much of it as it allows.
    private static let bufferSize: Int32 = 4 << 20

    /// A socket that is connected to that address; nothing is sent. Throws the errno of the call that failed.
    package init(
        to address: SocketAddress, on loop: EventLoop, owner: (any DatagramSocketOwner)? = nil
    ) throws(POSIXFailure) {
        let isIPv6 = address.family == .ipv6
        let descriptor = cll_socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure(cll_errno()) }
        func giveUp(_ code: Int32) -> POSIXFailure {
            Glibc.close(descriptor)
            return POSIXFailure(code)
        }
        guard !DescriptorReserve.contains(descriptor) else { throw giveUp(EMFILE) }
        cll_datagram_options(descriptor, isIPv6 ? 1 : 0, Self.bufferSize)
        let result = address.withSockaddr { pointer, length in
            connect(descriptor, pointer.assumingMemoryBound(to: sockaddr.self), length)
        }
        guard result == 0 else { throw giveUp(cll_errno()) }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        guard cll_getsockname(descriptor, &storage, &length) == 0 else { throw giveUp(cll_errno()) }
        let local = withUnsafeBytes(of: &storage) { bytes in
            bytes.baseAddress.flatMap { SocketAddress(sockaddr: $0, count: Int(length)) }
        }
        guard let local else { throw giveUp(EAFNOSUPPORT) }
        self.descriptor = descriptor
        self.loop = loop
        self.owner = owner
        localAddress = local
        remoteAddress = address
        guard let registration = loop.register(descriptor, self) else { throw giveUp(cll_errno()) }
        self.registration = registration
    }

    package var isClosed: Bool { registration == nil }
    /// Whether a read may bring something.
    package var mayHaveMore: Bool { mayRead }

    /// Reads what has come, as far as it is of one size and fits; a buffer of 64 KiB has room for all that comes at once.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> DatagramRead {
        guard mayRead, registration != nil else { return .wouldBlock }
        var segment = 0
        var mark: UInt8 = 0
        let count = cll_receive_datagrams(descriptor, buffer.baseAddress, buffer.count, &segment, &mark)
        if count >= 0 { return .datagrams(count: count, segment: segment, mark: mark) }
        let code = cll_errno()
        if code == EAGAIN || code == EWOULDBLOCK {
            mayRead = false
            return .wouldBlock
        }
        return .failed(POSIXFailure(code))
    }

    /// Sends the bytes as datagrams of `segment` bytes each, the last of which may be shorter: all of them, or none.
    ///
    /// - Parameter mark: The octet in the head of each packet that has the traffic class and the marks of congestion.
    package func write(_ bytes: UnsafeRawBufferPointer, segment: Int, mark: UInt8) -> DatagramWrite {
        guard mayWrite, registration != nil, segment > 0 else { return .wouldBlock }
        if cutsInKernel || bytes.count <= segment {
            let result = send(bytes, segment: segment, mark: mark)
            guard case .failed(let failure) = result, bytes.count > segment,
                [EIO, EINVAL, EOPNOTSUPP, ENOPROTOOPT].contains(failure.code)
            else { return result }
            // This way out cannot.
            cutsInKernel = false
        }
        var rest = bytes
        while !rest.isEmpty {
            switch send(UnsafeRawBufferPointer(rebasing: rest.prefix(segment)), segment: segment, mark: mark) {
            case .sent, .tooLong: break
            // What does not fit is lost, as it could be anywhere on its way.
            case .wouldBlock: return rest.count == bytes.count ? .wouldBlock : .sent
            case .failed(let failure): return .failed(failure)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(segment))
        }
        return .sent
    }

    private func send(_ bytes: UnsafeRawBufferPointer, segment: Int, mark: UInt8) -> DatagramWrite {
        let isIPv6: Int32 = remoteAddress.family == .ipv6 ? 1 : 0
        if cll_send_datagrams(descriptor, isIPv6, bytes.baseAddress, bytes.count, segment, mark) >= 0 { return .sent }
        let code = cll_errno()
        switch code {
        case EAGAIN, EWOULDBLOCK:
            mayWrite = false
            return .wouldBlock
        // A line of packets is full somewhere below the socket, which nobody tells the end of: lost, then.
        case ENOBUFS: return .sent
        case EMSGSIZE: return .tooLong
        default: return .failed(POSIXFailure(code))
        }
    }

    /// Has the owner called in the next turn though the kernel has nothing new to say.
    package func callAgain() { loop.callAgain(self) }

    package func becameReady(_ readiness: Readiness) {
        if readiness.contains(.readable) { mayRead = true }
        if readiness.contains(.writable) { mayWrite = true }
        owner?.socketBecameReady(self)
    }

    package func close() {
        guard let registration else { return }
        self.registration = nil
        owner = nil
        loop.unregister(descriptor, registration)
        Glibc.close(descriptor)
    }
}
