internal import Glibc

extension ServerConnection {
    /// Passes bytes between the client and a port of this machine, as a proxy's tunnel does, until either ends. To be called
    /// when all that has come is read.
    package func relay(to port: Int) throws {
        let descriptor = try Loopback.ipv4.makeSocket()
        guard Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            let failure = POSIXFailure("connect")
            Glibc.close(descriptor)
            throw failure
        }
        let far = StreamSocket(adopting: descriptor, stop: stop)
        defer { far.close() }
        while true {
            for (from, to) in [(socket, far), (far, socket)] {
                guard let bytes = try from.read() else { continue }
                if bytes.isEmpty { return }
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = try to.write(rest)
                    rest = rest.dropFirst(count)
                    if count == 0 { _ = try to.wait(for: POLLOUT, within: deadline) }
                }
            }
            try waitForEither(far)
        }
    }

    private func waitForEither(_ far: StreamSocket) throws {
        var polled = [socket.descriptor, far.descriptor, stop.descriptor].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let count = poll(&polled, nfds_t(polled.count), Int32(deadline / .milliseconds(1)))
        if polled[2].revents != 0 { throw ServerStopped() }
        if count == 0 { throw DeadlineExceeded(awaited: "bytes to pass on", deadline: deadline) }
    }
}
