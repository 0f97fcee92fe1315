import Glibc
import TestSupport
import Testing

@testable import LoadingTransport

/// Several datagrams in one system call, in both directions.
@Suite struct DatagramSocketTests {
    private final class Reader: DatagramSocketOwner {
        let reads = Watched<[[Int]]>([])

        func socketBecameReady(_ socket: DatagramSocket) {
            withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
                while case .datagrams(let count, let segment, let mark) = socket.read(into: buffer) {
                    reads.withValue { $0.append([count, segment, Int(mark)]) }
                }
            }
        }
    }

    /// Runs `body` on a loop, with a new socket that is connected to the port.
    private func using(
        port: Int, owner: Reader = Reader(), _ body: @escaping @Sendable (DatagramSocket) -> Void
    ) async throws {
        let loop = EventLoops.assign()
        let isDone = Signal("the loop")
        let box = LoopBox(owner, on: loop)
        loop.post {
            defer { isDone.fire() }
            guard let address = SocketAddress(literal: "127.0.0.1", port: UInt16(truncatingIfNeeded: port)),
                let socket = try? DatagramSocket(to: address, on: loop, owner: box.value)
            else {
                _ = Issue.record("no socket")
                return
            }
            body(socket)
        }
        try await isDone.wait()
    }

    // S-7: in one buffer, which the kernel splits (UDP_SEGMENT)
    @Test("ten datagrams are sent in one call") func cutByKernel() async throws {
        let port = try SilentDatagramPort(coalesces: true)
        defer { port.close() }
        let bytes = [UInt8].pattern(count: 12_000)
        try await using(port: port.port) { socket in
            let outcome = bytes.withUnsafeBytes { socket.write($0, segment: 1_200, mark: 2) }
            guard case .sent = outcome else {
                _ = Issue.record("\(outcome)")
                return
            }
            socket.close()
        }
        let datagrams = port.datagrams()
        // Over the loopback interface the receiver gets them in one buffer too.
        #expect(datagrams.map(\.bytes) == [bytes])
        #expect(datagrams.map(\.mark) == [2])
    }

    // S-7: more than the kernel splits are sent one by one
    @Test("a thousand datagrams are sent") func cutHere() async throws {
        let port = try SilentDatagramPort()
        defer { port.close() }
        let bytes = [UInt8].pattern(count: 8_000)
        let received = Watched<[[UInt8]]>([])
        try await using(port: port.port) { socket in
            // The receive buffer is too small for all at once.
            for part in 0..<4 {
                let outcome = bytes[part * 2_000..<(part + 1) * 2_000].withUnsafeBytes {
                    socket.write($0, segment: 8, mark: 0)
                }
                guard case .sent = outcome else {
                    _ = Issue.record("\(outcome)")
                    return
                }
                received.withValue { $0 += port.datagrams().map(\.bytes) }
            }
            socket.close()
        }
        #expect(received.current.count == 1_000)
        #expect(received.current.allSatisfy { $0.count == 8 })
        #expect(received.current.flatMap { $0 } == bytes)
    }

    // S-7: (UDP_GRO)
    @Test("datagrams that arrived together are read together") func readTogether() async throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        try #require(descriptor >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(descriptor, address, length) == 0, getsockname(descriptor, address, &length) == 0 else {
                    return 0
                }
                return Int(UInt16(bigEndian: pointer.pointee.sin_port))
            }
        }
        try #require(port != 0)
        let reader = Reader()
        let reads = reader.reads
        let box = Watched<(socket: LoopBox<DatagramSocket>, loop: EventLoop)?>(nil)
        try await using(port: port, owner: reader) { near in
            box.withValue { $0 = (LoopBox(near), near.loop) }
            let isConnected = near.localAddress.withSockaddr { pointer, count in
                connect(descriptor, pointer.assumingMemoryBound(to: sockaddr.self), count)
            }
            var segment: Int32 = 1_200
            let segmentOption: Int32 = 103
            let isCut = setsockopt(
                descriptor, Int32(IPPROTO_UDP), segmentOption, &segment, socklen_t(MemoryLayout<Int32>.size))
            let bytes = [UInt8].pattern(count: 11_000)
            guard isConnected == 0, isCut == 0, send(descriptor, bytes, bytes.count, 0) == bytes.count else {
                _ = Issue.record("nothing was sent: \(errno)")
                return
            }
        }
        let read = try await reads.wait(for: "datagrams") { $0.isEmpty ? nil : $0 }
        #expect(read == [[11_000, 1_200, 0]])
        let near = try #require(box.current)
        near.loop.post { [socket = near.socket] in socket.value.close() }
    }
}
