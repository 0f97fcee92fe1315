internal import Glibc

/// A UDP relay on loopback that can delay datagrams, and forge answers. Datagrams of clients are held until `release`,
/// and again after `hold`.
package final class DatagramRelay: Sendable {
    package let port: Int
    private let target: Int
    private let descriptor: Int32
    private let stopSwitch: StopSwitch
    private let thread: Watched<JoinableThread?>
    private let state = Watched(State())

    private struct Client {
        let address: sockaddr_in
        /// Connected to the destination.
        let descriptor: Int32
        var held: [[UInt8]] = []
    }

    private struct State {
        var isHolding = true
        var isForging = false
        var clients: [Client] = []
    }

    /// - Parameter port: The port to listen on; nil for any free port.
    package init(_ port: Int = 0, to target: Int) throws {
        self.target = target
        stopSwitch = try StopSwitch()
        let descriptor = try Self.makeSocket()
        guard Loopback.ipv4.withAddress(port: port, { bind(descriptor, $0, $1) }) == 0 else {
            let failure = POSIXFailure("bind")
            close(descriptor)
            throw failure
        }
        self.descriptor = descriptor
        self.port = Loopback.port(of: descriptor) { getsockname($0, $1, $2) }
        thread = Watched(nil)
        let running = try JoinableThread(name: "test-relay") { [self] in run() }
        thread.withValue { $0 = running }
    }

    private static func makeSocket() throws -> Int32 {
        let descriptor = socket(
            AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        return descriptor
    }

    /// The number of sockets that have sent something.
    package var clientCount: Int { state.current.clients.count }

    /// Forwards held datagrams, and all later ones.
    package func release() {
        state.withValue { state in
            state.isHolding = false
            for index in state.clients.indices {
                for datagram in state.clients[index].held {
                    _ = send(state.clients[index].descriptor, datagram, datagram.count, 0)
                }
                state.clients[index].held = []
            }
        }
    }

    /// Holds later datagrams.
    package func hold() { state.withValue { $0.isHolding = true } }

    /// Forwards nothing any more, in neither direction, and answers each datagram with random bytes, as a server does
    /// that was restarted and does not know the connection (RFC 9000 §10.3).
    package func forge() { state.withValue { $0.isForging = true } }

    /// Must be called once.
    package func stop() {
        stopSwitch.stop()
        thread.current?.join()
        close(descriptor)
        for client in state.current.clients { close(client.descriptor) }
    }

    private func run() {
        while true {
            let clients = state.current.clients
            var polled = ([stopSwitch.descriptor, descriptor] + clients.map(\.descriptor)).map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            while poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
            if polled[0].revents != 0 { return }
            takeFromClients()
            for client in clients { giveBack(to: client) }
        }
    }

    private func takeFromClients() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutableBytes(of: &address) { bytes in
                recvfrom(
                    descriptor, &buffer, buffer.count, 0, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    &length)
            }
            guard count > 0 else { return }
            pass(Array(buffer.prefix(count)), from: address)
        }
    }

    private func pass(_ datagram: [UInt8], from address: sockaddr_in) {
        state.withValue { state in
            let known = state.clients.firstIndex { $0.address.sin_port == address.sin_port }
            guard let index = known ?? add(address, to: &state) else { return }
            if state.isForging { return answer(state.clients[index], Self.statelessReset()) }
            if state.isHolding { return state.clients[index].held.append(datagram) }
            _ = send(state.clients[index].descriptor, datagram, datagram.count, 0)
        }
    }

    private func add(_ address: sockaddr_in, to state: inout State) -> Int? {
        guard let descriptor = try? Self.makeSocket() else { return nil }
        guard Loopback.ipv4.withAddress(port: target, { connect(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            return nil
        }
        state.clients.append(Client(address: address, descriptor: descriptor))
        return state.clients.count - 1
    }

    private func giveBack(to client: Client) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(client.descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            if !state.current.isForging { answer(client, Array(buffer.prefix(count))) }
        }
    }

    private func answer(_ client: Client, _ datagram: [UInt8]) {
        var address = client.address
        withUnsafeBytes(of: &address) { bytes in
            _ = sendto(
                descriptor, datagram, datagram.count, 0, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count))
        }
    }

    /// With a token that no connection has.
    private static func statelessReset() -> [UInt8] {
        (0..<41).map { $0 == 0 ? .random(in: 0x40...0x7F) : .random(in: 0...0xFF) }
    }
}
