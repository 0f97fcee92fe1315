internal import CTestTLS
internal import Foundation
internal import Glibc
package import Testing

/// Counts the connections to a port of 127.0.0.1 by capturing packets, including connections without requests.
///
/// A TCP connection is detected by its SYN-ACK, a QUIC connection by the server's first packet. Readiness checks count
/// too.
package final class ConnectionCapture: Sendable {
    package struct Counts: Sendable, Equatable {
        package var tcp = 0
        package var quic = 0
        /// Whether a client sent QUIC packets, even without an answer.
        package var isQUICWanted = false
    }

    /// The capture buffer has overflowed.
    package struct Missed: Error {}

    private let port: Int
    private let descriptor: Int32
    private let seen = Watched<Set<[UInt8]>>([])

    package init(port: Int) throws {
        self.port = port
        descriptor = ctt_capture_connections(UInt16(truncatingIfNeeded: port))
        guard descriptor >= 0 else { throw POSIXFailure("packet socket") }
    }

    deinit {
        close(descriptor)
    }

    /// The counts so far.
    package func counts() throws -> Counts {
        let names = try seen.withValue { names in
            // Packets are captured before the receiver can process them.
            while let packet = try read() {
                if let name = name(of: packet) { names.insert(name) }
            }
            return names
        }
        if ctt_count_missed(descriptor) != 0 { throw Missed() }
        let tcp = names.filter { $0[0] == UInt8(IPPROTO_TCP) }.count
        let wanted = names.contains(Self.request) ? 1 : 0
        return Counts(tcp: tcp, quic: names.count - tcp - wanted, isQUICWanted: wanted == 1)
    }

    private func read() throws -> [UInt8]? {
        var failure: Int32 = 0
        let packet = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            failure = errno
            count = max(count, 0)
        }
        if !packet.isEmpty { return packet }
        guard failure == EAGAIN else { throw POSIXFailure("recv", code: failure) }
        return nil
    }

    /// In the place of a name, for what a client says.
    private static let request: [UInt8] = [0]

    /// The protocol, the client's port, and the acknowledged sequence number or the client's connection id, which
    /// distinguishes connections of the same port. Retransmitted packets have the same key.
    private func name(of packet: [UInt8]) -> [UInt8]? {
        guard let first = packet.first, packet.count > 9 else { return nil }
        let transport = packet[9]
        let segment = packet.dropFirst(Int(first & 0xF) * 4)
        let start = segment.startIndex
        guard segment.count >= 20 else { return nil }
        let isServer = Int(segment[start]) << 8 | Int(segment[start + 1]) == port
        if !isServer { return Self.request }
        let port = segment[start + 2..<start + 4]
        if transport == UInt8(IPPROTO_TCP) { return [transport] + port + segment[start + 8..<start + 12] }
        // The UDP header, QUIC's first octet and version, and the length of the connection id.
        let identifier = segment.dropFirst(8 + 5)
        guard let length = identifier.first, identifier.count > length else { return nil }
        return [transport] + port + identifier.dropFirst().prefix(Int(length))
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if this process may not capture packets. If the variable `CI` requires all tests to run, it fails
    /// instead.
    package static var needsPacketCapture: Self {
        .enabled("seeing connections on the wire takes the right to open packet sockets (CAP_NET_RAW)") {
            do {
                _ = try ConnectionCapture(port: 0)
                return true
            } catch {
                if ProcessInfo.processInfo.environment["CI"] == "true" { throw error }
                return false
            }
        }
    }
}
