import CSimulation

/// TLS between the wire and the endpoint of the protocol over it.
final class TLSEndpoint: Endpoint, Wire {
    private let wire: any Wire
    private let tls: OpaquePointer
    private let accept: (any Wire, _ isHTTP2: Bool) -> any Endpoint
    private let sendsCloseNotify: Bool
    private var inner: (any Endpoint)?
    private var hasEnded = false

    /// - Parameter host: From `simulation_tls_host_new`.
    init(
        on wire: any Wire, of host: OpaquePointer, sendsCloseNotify: Bool,
        accept: @escaping (any Wire, _ isHTTP2: Bool) -> any Endpoint
    ) {
        self.wire = wire
        self.accept = accept
        self.sendsCloseNotify = sendsCloseNotify
        // It fails only without memory.
        tls = simulation_tls_new(host)!
    }

    deinit { simulation_tls_free(tls) }

    private func flush() {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 65_536) { buffer in
            while true {
                let count = simulation_tls_take(tls, buffer.baseAddress, Int64(buffer.count))
                guard count > 0 else { return }
                wire.write(Array(buffer.prefix(Int(count))))
            }
        }
    }

    // MARK: Endpoint

    func receive(_ bytes: [UInt8]) {
        guard !hasEnded else { return }
        simulation_tls_receive(tls, bytes, Int64(bytes.count))
        if inner == nil, simulation_tls_is_ready(tls) { inner = accept(self, simulation_tls_is_http2(tls)) }
        let isOpen = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 65_536) { buffer in
            while true {
                let count = simulation_tls_read(tls, buffer.baseAddress, Int64(buffer.count))
                guard count > 0 else { return count == 0 }
                inner?.receive(Array(buffer.prefix(Int(count))))
            }
        }
        flush()
        // After close_notify, and after an alert.
        if !isOpen {
            end(isBroken: false)
            wire.finish()
        }
    }

    func end(isBroken: Bool) {
        guard !hasEnded else { return }
        hasEnded = true
        inner?.end(isBroken: isBroken)
        inner = nil
    }

    // MARK: Wire

    func write(_ bytes: [UInt8]) {
        simulation_tls_write(tls, bytes, Int64(bytes.count))
        flush()
    }

    /// A record, which the client reads as a whole.
    func writeTogether(_ bytes: [UInt8]) { write(bytes) }

    var isRead: Bool { wire.isRead }

    func finish() {
        if sendsCloseNotify { simulation_tls_close(tls) }
        flush()
        wire.finish()
    }

    func reset() { wire.reset() }
}
