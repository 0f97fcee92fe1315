internal import Glibc
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

extension HTTP3Connection {
    /// Migrates the connection to another local address (RFC 9000 §9). Without another address, open streams wait for
    /// one until QUIC's own timer ends the connection. The connection takes no new streams meanwhile.
    func localAddressWasLost() {
        let before = socket
        guard !isClosed, opened == nil else { return lose(.networkConnectionLost(ENETDOWN)) }
        guard let next = try? DatagramSocket(to: before.remoteAddress, on: pool.loop, owner: self) else {
            hasLostLocalAddress = true
            // Without a local address no PING acknowledgement can arrive.
            pool.loop.disarm(answerTimer)
            if isIdle { return lose(.networkConnectionLost(ENETDOWN)) }
            // New requests fail because there is no route, or wait for one (CONN-12, CONN-14).
            if isAdopted, !isRetired { pool.retire(self) }
            return
        }
        hasLostLocalAddress = false
        hasRoomForMore = true
        socket = next
        before.close()
        unsent = nil
        guard session.endpointsChanged(to: HTTP3Endpoints(next), at: pool.loop.now) else {
            return lose(.networkConnectionLost(ENETDOWN))
        }
        isTurnPlanned = false
        planTurn()
    }
}

extension HTTP3Endpoints {
    init(_ socket: DatagramSocket) {
        self.init(local: socket.localAddress.octets, remote: socket.remoteAddress.octets)
    }
}

extension SocketAddress {
    /// The bytes of the `sockaddr`.
    fileprivate var octets: [UInt8] {
        withSockaddr { Array(UnsafeRawBufferPointer(start: $0, count: Int($1))) }
    }
}
