internal import CLoadingLinux
internal import Glibc

/// A connected UDP socket on a loop. Reads and writes never block. Confined to its loop. Must be closed.
package final class DatagramSocket: ReadinessHandler {
    package let loop: EventLoop
    /// Notified of readiness. A strong reference until `close()`.
    package var owner: (any DatagramSocketOwner)?
    package let localAddress: SocketAddress
    package let remoteAddress: SocketAddress

    private let descriptor: Int32
    private var registration: LoopRegistration?
    private var mayRead = false
    private var mayWrite = true
    /// Whether the kernel segments writes (UDP_SEGMENT).
    private var cutsInKernel = true

    /// The requested size of the receive buffer, for bursts of a fast peer. The kernel may limit it.
    private static let bufferSize: Int32 = 4 << 20

    /// Connects to the address without sending anything. Throws the errno of the failed call.
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
    /// Whether a read may return data.
    package var mayHaveMore: Bool { mayRead }

    /// Reads datagrams of equal size, as many as fit. 64 KiB suffice for all that the kernel returns at once.
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

    /// Sends the bytes as datagrams of `segment` bytes each, the last possibly shorter: all or none.
    ///
    /// - Parameter mark: The traffic class octet of the IP header: DSCP and ECN.
    package func write(_ bytes: UnsafeRawBufferPointer, segment: Int, mark: UInt8) -> DatagramWrite {
        guard mayWrite, registration != nil, segment > 0 else { return .wouldBlock }
        if cutsInKernel || bytes.count <= segment {
            let result = send(bytes, segment: segment, mark: mark)
            guard case .failed(let failure) = result, bytes.count > segment,
                [EIO, EINVAL, EOPNOTSUPP, ENOPROTOOPT].contains(failure.code)
            else { return result }
            // The outgoing interface does not support segmentation.
            cutsInKernel = false
        }
        var rest = bytes
        while !rest.isEmpty {
            switch send(UnsafeRawBufferPointer(rebasing: rest.prefix(segment)), segment: segment, mark: mark) {
            case .sent, .tooLong: break
            // Datagrams that do not fit are dropped, as the network might.
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
        // A queue below the socket is full, and its drain is not reported. The datagram counts as lost.
        case ENOBUFS: return .sent
        case EMSGSIZE: return .tooLong
        default: return .failed(POSIXFailure(code))
        }
    }

    /// Notifies the owner in the next turn, although the readiness has not changed.
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

/// The result of reading datagrams.
package enum DatagramRead {
    /// `count` bytes: datagrams of `segment` bytes each, the last possibly shorter. `mark` contains the ECN bits (RFC
    /// 3168).
    case datagrams(count: Int, segment: Int, mark: UInt8)
    case wouldBlock
    /// An ICMP error for an earlier datagram, such as an unreachable port or host.
    case failed(POSIXFailure)
}

/// The result of writing datagrams.
package enum DatagramWrite {
    case sent
    /// The socket buffer is full.
    case wouldBlock
    /// Longer than the path MTU, and dropped.
    case tooLong
    case failed(POSIXFailure)
}

/// Notified on the loop when a datagram socket becomes readable or writable.
package protocol DatagramSocketOwner: AnyObject {
    func socketBecameReady(_ socket: DatagramSocket)
}
