import CSimulation

/// HTTP/3 of a host: where it is, what is wrong with it, and its connections. Everything but init runs on the thread of
/// the world.
final class HTTP3Service {
    let server: OriginServer
    /// At which it is offered.
    let port: UInt16
    let faults: Faults
    /// From `simulation_http3_host_new`.
    let host: OpaquePointer
    private var listeners: [HTTP3Listener] = []
    private var hasRefusedRest = false

    /// What is wrong beside that which is wrong with every response of the host.
    struct Faults {
        /// A connection comes to nothing.
        var refusal: Refusal?
        /// A connection that has begun is forgotten after so many datagrams from the client; 0 for never.
        var forgetsAfter = 0
        /// One connection processes only the requests that it had before the second one.
        var refusesRest = false
        /// An unknown connection gets a stateless reset.
        var resetsUnknown = false
    }

    enum Refusal: CaseIterable {
        case closedPort, otherVersion, closedHandshake, otherProtocol

        var part: String {
            switch self {
            case .closedPort: "has no HTTP/3"
            case .otherVersion: "has another version of QUIC"
            case .closedHandshake: "refuses connections of QUIC"
            case .otherProtocol: "has another protocol over QUIC"
            }
        }
    }

    /// - Parameter tls: From `simulation_tls_host_new`.
    init(of server: OriginServer, tls: OpaquePointer, addresses: [simulation_address], _ offer: Offer) {
        self.server = server
        (port, faults) = (offer.port, offer.faults)
        // It fails only without memory.
        host = simulation_http3_host_new(tls, offer.options)!
        simulation_note("\(server.name) has HTTP/3 at port \(port), \(faults)")
        if offer.hasRecord { simulation_add_http3_record(server.name, port) }
        if faults.refusal == .closedPort { return }
        listeners = addresses.map { HTTP3Listener(of: self, at: $0, validatesAddress: offer.validatesAddress) }
    }

    /// Whether a connection refuses every request from now on. A client sends them again, on another one.
    func beginsToRefuse() -> Bool {
        guard faults.refusesRest, !hasRefusedRest else { return false }
        hasRefusedRest = true
        return true
    }

    /// What a world decides before there is a server.
    struct Offer {
        var port: UInt16
        var options: simulation_http3_options
        var faults: Faults
        /// By a Retry.
        var validatesAddress: Bool
        /// DNS has a record of it.
        var hasRecord: Bool

        /// Nil if the host has no HTTP/3. Without faults every load from the host has to succeed, also if QUIC does not
        /// work.
        init?(of name: String, isFaultless: Bool, mayFailAlone: Bool) {
            let choices = Choices("\(name) in HTTP/3")
            guard !choices.oneIn(3), Parts.has("\(name) offers HTTP/3") else { return nil }
            port = choices.oneIn(4) ? 8443 : 443
            options = simulation_http3_options()
            options.stream_window = UInt64(choices.pick([65_536, 1 << 20, 4000 + choices.below(10_000)]))
            options.most_streams = choices.pick([100, 100, 5, 1])
            options.idle_timeout = UInt64(choices.oneIn(3) ? 2 * second + choices.seconds(10) : 30 * second)
            options.tickets = choices.below(3)
            options.accepts_early_data = choices.oneIn(2)
            options.wants_other_group = choices.oneIn(8)
            validatesAddress = choices.oneIn(6)
            hasRecord = choices.oneIn(3)
            faults = Faults()
            func happens(_ part: String, oneIn chance: Int) -> Bool {
                Choices("\(name) \(part)").oneIn(chance) && Parts.has("\(name) \(part)")
            }
            let refusal = choices.pick(Refusal.allCases)
            if mayFailAlone, happens(refusal.part, oneIn: 6) { faults.refusal = refusal }
            faults.refusesRest = mayFailAlone && happens("refuses the rest", oneIn: 3)
            options.has_other_protocol = faults.refusal == .otherProtocol
            if !isFaultless, happens("forgets connections of QUIC", oneIn: 3) {
                faults.forgetsAfter = 2 + choices.below(60)
                faults.resetsUnknown = choices.oneIn(2)
            }
        }
    }
}

/// A port of UDP of a simulated host. It lives as long as the process.
final class HTTP3Listener {
    private let service: HTTP3Service
    private let address: simulation_address
    private let validatesAddress: Bool
    private var connections: [HTTP3Endpoint] = []

    init(of service: HTTP3Service, at address: simulation_address, validatesAddress: Bool) {
        (self.service, self.address, self.validatesAddress) = (service, address, validatesAddress)
        simulation_listen_datagrams(
            address, service.port,
            simulation_datagram_listener(
                context: Unmanaged.passRetained(self).toOpaque(),
                received: { context, port, bytes, count, mark in
                    // The context is the one above.
                    Unmanaged<HTTP3Listener>.fromOpaque(context!).takeUnretainedValue()
                        .receive(UnsafeBufferPointer(start: bytes, count: Int(count)), from: port, mark)
                }))
    }

    private func receive(_ datagram: UnsafeBufferPointer<UInt8>, from port: UInt16, _ mark: UInt8) {
        if let connection = connections.first(where: { $0.isFor(datagram) }) {
            connection.receive(datagram, from: port, mark)
        } else if !answerAlone(datagram, from: port) {
            guard let connection = HTTP3Endpoint(of: service, at: address, on: self, from: port, datagram) else {
                return
            }
            connections.append(connection)
            connection.receive(datagram, from: port, mark)
        }
    }

    func forget(_ connection: HTTP3Endpoint) { connections.removeAll { $0 === connection } }

    func send(_ datagram: UnsafeBufferPointer<UInt8>, to port: UInt16, _ mark: UInt8) {
        simulation_send_datagram(address, service.port, port, datagram.baseAddress, Int64(datagram.count), mark)
    }

    /// An answer of no connection.
    private func answerAlone(_ datagram: UnsafeBufferPointer<UInt8>, from port: UInt16) -> Bool {
        var replies: [simulation_http3_reply] = []
        switch service.faults.refusal {
        case .otherVersion: replies.append(simulation_http3_other_version)
        case .closedHandshake: replies.append(simulation_http3_refusal)
        case .closedPort, .otherProtocol, nil: break
        }
        if validatesAddress { replies.append(simulation_http3_retry) }
        if service.faults.resetsUnknown { replies.append(simulation_http3_stateless_reset) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1500) { buffer in
            for reply in replies {
                let count = simulation_http3_answer(
                    service.host, reply, port, address >= simulation_ipv6, datagram.baseAddress, Int64(datagram.count),
                    buffer.baseAddress, Int64(buffer.count))
                guard count > 0 else { continue }
                simulation_note("\(service.server.name): a datagram without a connection, reply \(reply.rawValue)")
                send(UnsafeBufferPointer(rebasing: buffer.prefix(Int(count))), to: port, 0)
                return true
            }
            return false
        }
    }
}
