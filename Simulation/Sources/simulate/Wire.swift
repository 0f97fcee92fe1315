import CSimulation

/// What a host writes to: a connection of TCP, or one within another protocol.
protocol Wire: AnyObject {
    func write(_ bytes: [UInt8])
    /// At most 16 KiB, which the client receives in one piece.
    func writeTogether(_ bytes: [UInt8])
    /// Nothing comes after what was written.
    func finish()
    func reset()
    /// The client has read everything.
    var isRead: Bool { get }
}

/// The host's side of a connection. Everything runs on the thread of the world.
protocol Endpoint: AnyObject {
    func receive(_ bytes: [UInt8])
    /// The client has closed its side, or the connection is broken.
    func end(isBroken: Bool)
}

/// A port of a simulated host. It lives as long as the process.
final class Listener {
    private let accept: (any Wire) -> any Endpoint
    private var endpoints: [Int32: any Endpoint] = [:]

    init(_ address: simulation_address, port: UInt16, accept: @escaping (any Wire) -> any Endpoint) {
        self.accept = accept
        simulation_listen(
            address, port,
            simulation_listener(
                context: Unmanaged.passRetained(self).toOpaque(),
                connected: { context, number in
                    let listener = Listener.of(context)
                    listener.endpoints[number] = listener.accept(TCPWire(number))
                },
                received: { context, number, bytes, count in
                    let bytes = Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
                    Listener.of(context).endpoints[number]?.receive(bytes)
                },
                ended: { context, number, isBroken in
                    let endpoint = Listener.of(context).endpoints.removeValue(forKey: number)
                    endpoint?.end(isBroken: isBroken)
                    simulation_finish(number)
                }))
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> Listener {
        // The context is the one that init gave.
        Unmanaged<Listener>.fromOpaque(context!).takeUnretainedValue()
    }
}

private final class TCPWire: Wire {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { simulation_send(number, $0.baseAddress, Int64($0.count)) }
    }
    func writeTogether(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { simulation_send_together(number, $0.baseAddress, Int64($0.count)) }
    }
    func finish() { simulation_finish(number) }
    var isRead: Bool { simulation_is_read(number) }
    func reset() { simulation_reset(number) }
}

/// Work on the thread of the world, at a later time.
final class Later {
    private let work: () -> Void

    private init(_ work: @escaping () -> Void) { self.work = work }

    static func after(_ delay: simulation_time, _ work: @escaping () -> Void) {
        simulation_after(
            delay,
            {
                // The context is the one below.
                Unmanaged<Later>.fromOpaque($0!).takeRetainedValue().work()
            }, Unmanaged.passRetained(Later(work)).toOpaque())
    }
}
