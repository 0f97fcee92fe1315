internal import Glibc

extension ServerConnection {
    /// Relays bytes between the client and a local port, like a proxy's tunnel, until that port closes. All received
    /// bytes must have been read before.
    package func relay(to port: Int) throws {
        let descriptor = try Loopback.ipv4.makeSocket()
        guard Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            let failure = POSIXFailure("connect")
            Glibc.close(descriptor)
            throw failure
        }
        let far = StreamSocket(adopting: descriptor, stop: stop)
        defer { far.close() }
        var hasReadAll = false
        while true {
            let (near, back) = (hasReadAll ? nil : try readNow(), try far.read())
            if back?.isEmpty == true { return }
            if near?.isEmpty == true {
                hasReadAll = true
                far.finishWriting()
            } else if let near {
                var rest = near[...]
                while !rest.isEmpty {
                    let count = try far.write(rest)
                    rest = rest.dropFirst(count)
                    if count == 0 { _ = try far.wait(for: POLLOUT, within: deadline) }
                }
            }
            if let back { try send(back) }
            if near == nil, back == nil { try waitForEither(far, hasReadAll: hasReadAll) }
        }
    }

    /// The received bytes; nil if there are none yet, empty at the end.
    private func readNow() throws -> [UInt8]? {
        guard let tls else { return try socket.read() }
        while true {
            let (progress, bytes) = try tls.read()
            try flushTLS()
            switch progress {
            case .done: if !bytes.isEmpty { return bytes }
            case .closedByClient: return []
            case .wantsInput:
                guard let wire = try socket.read() else { return nil }
                if wire.isEmpty { return [] }
                try tls.receive(wire)
            }
        }
    }

    private func waitForEither(_ far: StreamSocket, hasReadAll: Bool) throws {
        // `poll` ignores negative descriptors.
        var polled = [hasReadAll ? -1 : socket.descriptor, far.descriptor, stop.descriptor].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let count = poll(&polled, nfds_t(polled.count), Int32(deadline / .milliseconds(1)))
        if polled[2].revents != 0 { throw ServerStopped() }
        if count == 0 { throw DeadlineExceeded(awaited: "bytes to pass on", deadline: deadline) }
    }
}
