import Foundation
import LoadingTransport
import TestSupport
import Testing

@Suite(.leakChecked) struct TLSTransferTests {
    private let authority: TestCertificateAuthority
    private let context: TLSContext

    init() throws {
        authority = try TestCertificateAuthority()
        context = try TLSContext(trusting: authority)
    }

    private func client(_ server: ScriptedServer, sendBufferSize: Int32? = nil) throws -> TLSClient {
        let client = try TLSClient(to: server, context: context, sendBufferSize: sendBufferSize)
        #expect(try client.handshake() == nil)
        return client
    }

    private func options(_ version: TLSServerOptions.Version = .tls13) throws -> TLSServerOptions {
        try TLSServerOptions(authority: authority).only(version)
    }

    @Test(
        "what is sent arrives, whatever the buffer",
        arguments: [
            (TLSServerOptions.Version.tls12, 1, 40_000), (.tls13, 1, 40_000), (.tls13, 7, 100_000),
            (.tls12, 16_384, 3_000_001), (.tls13, 16_384, 3_000_001), (.tls13, 5_000, 3_000_001),
            (.tls13, 1_048_576, 8_000_003),
        ])
    func whatIsSentArrivesWhateverBuffer(
        version: TLSServerOptions.Version, capacity: Int, count: Int
    ) throws {
        let body = [UInt8].pattern(count: count)
        let server = try ScriptedServer(tls: options(version)) { connection in
            try connection.send(body)
            connection.close()
        }
        defer { server.stop() }
        let (end, bytes) = try client(server).readToEnd(capacity: capacity)
        #expect(end == .end)
        #expect(bytes == body)
    }

    // Within one call OpenSSL goes on with the next message, so a server could hold the loop.
    @Test("a server cannot go on without end with messages of the handshake") func messagesWithoutContent() throws {
        let server = try ScriptedServer(tls: options(.tls13)) { connection in
            try connection.updateKey(times: 3_000)
            try connection.send("some")
            try connection.updateKey(times: 3_000)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let client = try client(server)
        let (first, bytes) = try client.read(capacity: 4)
        #expect(first == .bytes(4))
        #expect(String(decoding: bytes, as: UTF8.self) == "some")
        let (end, _) = try client.read(capacity: 4)
        guard case .failed(let error) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(error.code == -1200)
        #expect(error.reason == "too many messages of the handshake protocol")
        // For good.
        #expect(try client.read(capacity: 4).0 == end)
    }

    // The client refuses it when it reads that.
    @Test("a server that wants to renegotiate does not hold up what is written") func renegotiation() throws {
        let body = [UInt8].pattern(count: 1_000_000)
        let asked = Signal("the request")
        let arrived = EventRecorder<Bool>()
        let server = try ScriptedServer(tls: options(.tls12)) { connection in
            try connection.renegotiate()
            asked.fire()
            arrived.record(try connection.receive(exactly: body.count) == body)
        }
        defer { server.stop() }
        let client = try client(server, sendBufferSize: 8_192)
        try asked.wait()
        var rest = body[...]
        while !rest.isEmpty {
            switch rest.withUnsafeBytes({ client.stream.write($0) }) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try client.waitUntil(POLLOUT)
            case .wantsRead, .failed:
                Issue.record("\(rest.count) bytes are left")
                return
            }
        }
        #expect(try arrived.waitFor(count: 1) == [true])
    }

    @Test("content makes up for messages of the handshake") func messagesBetweenContent() throws {
        let body = [UInt8].pattern(count: 4_000_000)
        let server = try ScriptedServer(tls: options(.tls13)) { connection in
            for _ in 0..<3 {
                try connection.updateKey(times: 3_000)
                try connection.send(body)
            }
            connection.close()
        }
        defer { server.stop() }
        let (end, bytes) = try client(server).readToEnd()
        #expect(end == .end)
        #expect(bytes == body + body + body)
    }

    @Test(
        "buffers may be kept and given back at any time, also within a record",
        arguments: [TLSServerOptions.Version.tls12, .tls13], [1, 100, 16_384])
    func buffersMayBeKeptAndGivenBack(version: TLSServerOptions.Version, capacity: Int) throws {
        let body = [UInt8].pattern(count: 50_000)
        let server = try ScriptedServer(tls: options(version)) { connection in
            // In pieces, so that records arrive and end within reads.
            try connection.send(try connection.receive(exactly: body.count), inPiecesOf: 777)
            connection.close()
        }
        defer { server.stop() }
        let client = try client(server, sendBufferSize: 8_192)
        for (index, start) in stride(from: 0, to: body.count, by: 5_000).enumerated() {
            client.stream.keepBuffers(index % 3 != 2)
            #expect(try client.write(Array(body[start..<start + 5_000]), inPiecesOf: capacity) == nil)
        }
        var received: [UInt8] = []
        var rounds = 0
        while received.count < body.count {
            client.stream.keepBuffers(rounds % 3 != 2)
            rounds += 1
            let (result, bytes) = try client.read(capacity: capacity)
            guard case .bytes = result else { break }
            received += bytes
        }
        #expect(received == body)
        #expect(rounds > 2)
        #expect(try client.readToEnd().0 == .end)
    }

    @Test("records of any size are reassembled", arguments: [1, 13, 1_000, 16_385])
    func recordsOfAnySizeArePutTogether(size: Int) throws {
        let body = [UInt8].pattern(count: size * 50)
        let server = try ScriptedServer(tls: options()) { connection in
            try connection.send(body, inPiecesOf: size)
            connection.close()
        }
        defer { server.stop() }
        let (end, bytes) = try client(server).readToEnd(capacity: 10_000)
        #expect(end == .end)
        #expect(bytes == body)
    }

    @Test(
        "what is written arrives, though the socket is often full",
        arguments: [
            (TLSServerOptions.Version.tls12, Int.max, 3_000_001), (.tls13, .max, 3_000_001), (.tls13, 1, 2_000),
            (.tls12, 20_000, 2_000_003),
        ])
    func whatIsWrittenArrivesThoughSocketIsOftenFull(
        version: TLSServerOptions.Version, size: Int, count: Int
    ) throws {
        let body = [UInt8].pattern(count: count)
        var sockets = ScriptedServer.Options()
        sockets.receiveBufferSize = 8_192
        let server = try ScriptedServer(sockets, tls: options(version)) { connection in
            let received = try connection.receive(exactly: body.count)
            try connection.send(received == body ? "same" : "different")
            connection.close()
        }
        defer { server.stop() }
        let client = try client(server, sendBufferSize: 8_192)
        #expect(try client.write(body, inPiecesOf: size) == nil)
        #expect(try client.readToEnd().1 == Array("same".utf8))
    }

    @Test("a write stops when the socket is full and continues from there")
    func writeStopsWhenSocketIsFullAndContinuesFromThere() throws {
        let received = Signal()
        let server = try ScriptedServer(tls: options()) { connection in
            try connection.wait(for: received)
            let bytes = try connection.receive(exactly: 4_000_000)
            try connection.send(bytes == .pattern(count: 4_000_000) ? "same" : "different")
            connection.close()
        }
        defer { server.stop() }
        let client = try client(server, sendBufferSize: 8_192)
        let body = [UInt8].pattern(count: 4_000_000)
        guard case .bytes(let count) = body.withUnsafeBytes({ client.stream.write($0) }) else {
            Issue.record("nothing written")
            return
        }
        #expect(count > 0 && count < body.count)
        let rest = Array(body.dropFirst(count))
        #expect(rest.withUnsafeBytes { client.stream.write($0) } == .wouldBlock)
        #expect(rest.withUnsafeBytes { client.stream.write($0) } == .wouldBlock)
        received.fire()
        #expect(try client.write(rest) == nil)
        #expect(try client.readToEnd().1 == Array("same".utf8))
    }

    // CONN-15, CONN-17: a slow upload makes progress
    @Test("what the socket has taken is reported, though each record has to wait")
    func whatTheSocketHasTakenIsReported() throws {
        let pieces = 60
        let mayReceive = DispatchSemaphore(value: 0)
        var sockets = ScriptedServer.Options()
        sockets.receiveBufferSize = 8_192
        let server = try ScriptedServer(sockets, tls: options()) { connection in
            for _ in 0..<pieces {
                mayReceive.wait()
                _ = try connection.receive(exactly: 16_384)
            }
            connection.close()
        }
        defer {
            for _ in 0..<pieces { mayReceive.signal() }
            server.stop()
        }
        let client = try client(server, sendBufferSize: 8_192)
        var rest = [UInt8].pattern(count: pieces * 16_384)[...]
        var reports = 0
        while !rest.isEmpty {
            switch rest.withUnsafeBytes({ client.stream.write($0) }) {
            case .bytes(let count):
                rest = rest.dropFirst(count)
                reports += 1
            case .wouldBlock:
                mayReceive.signal()
                try client.waitUntil(POLLOUT)
            case .wantsRead: try client.waitUntil(POLLIN)
            case .failed(let error): throw error
            }
        }
        #expect(reports > pieces / 4)
    }

    @Test("a closure and a truncation are distinguished", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func closureAndTruncationAreDistinguished(version: TLSServerOptions.Version) throws {
        let server = try ScriptedServer(tls: options(version)) { connection in
            try connection.send("abc")
            switch connection.index {
            case 0: connection.close()
            case 1: connection.closeAbruptly()
            default:
                // A record of which only the header arrives.
                try connection.sendBelowTLS([0x17, 3, 3, 0, 100, 1, 2, 3])
                connection.closeAbruptly()
            }
        }
        defer { server.stop() }
        let ends = try (0..<3).map { _ in try client(server).readToEnd() }
        #expect(ends.map(\.0) == [.end, .truncated, .truncated])
        #expect(ends.map(\.1) == [[UInt8]](repeating: Array("abc".utf8), count: 3))
    }

    @Test("each read after the end reports the end") func eachReadAfterEndReportsEnd() throws {
        let server = try ScriptedServer(tls: options(), steps: [.close])
        defer { server.stop() }
        let client = try client(server)
        #expect(try client.readToEnd().0 == .end)
        #expect(try client.readToEnd().0 == .end)
    }

    @Test("a reset loses the connection", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func resetLosesConnection(version: TLSServerOptions.Version) throws {
        let server = try ScriptedServer(tls: options(version)) { connection in
            try connection.send("abc")
            _ = try connection.receive(exactly: 1)
            connection.reset()
        }
        defer { server.stop() }
        let client = try client(server)
        #expect(try client.read(capacity: 10).1 == Array("abc".utf8))
        try client.write([1])
        let lost = TLSError(code: -1005, reason: "the connection was lost", posix: ECONNRESET)
        #expect(try client.readToEnd().0 == .failed(lost))
        #expect(try client.readToEnd().0 == .failed(lost))
        #expect(try client.write([1]) == lost)
    }

    @Test("writing to a closed peer raises no signal") func writingToClosedPeerRaisesNoSignal() throws {
        let server = try ScriptedServer(tls: options()) { $0.reset() }
        defer { server.stop() }
        let client = try client(server)
        try client.waitUntil(POLLHUP)
        let error = try client.write(.pattern(count: 1_000_000))
        #expect(error?.code == -1005)
        #expect(error?.posix == ECONNRESET || error?.posix == EPIPE)
        #expect(client.stream.shutdown())
    }

    @Test("a response can be read after a failed write") func responseCanBeReadAfterFailedWrite() throws {
        let server = try ScriptedServer(tls: options()) { connection in
            _ = try connection.receive(exactly: 1)
            try connection.send("too much")
            connection.close()
        }
        defer { server.stop() }
        // Created before the server waits.
        let bytes = [UInt8].pattern(count: 20_000_000)
        let client = try client(server)
        let error = try client.write(bytes)
        #expect(error?.code == -1005)
        #expect(try client.write([1]) == error)
        #expect(try client.read(capacity: 100).1 == Array("too much".utf8))
    }

    // TLS-5
    @Test(
        "an invalid record ends the connection",
        arguments: [
            [0x17, 3, 3, 0, 20] + [UInt8](repeating: 7, count: 20), [0x80, 0, 0, 0, 0, 0], [0x17, 3, 3, 0xFF, 0xFF],
            [0x16, 3, 3, 0, 0],
        ])
    func invalidRecordEndsConnection(garbage: [UInt8]) throws {
        let server = try ScriptedServer(tls: options()) { connection in
            try connection.send("abc")
            try connection.sendBelowTLS(garbage)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let client = try client(server)
        let (end, bytes) = try client.readToEnd()
        #expect(bytes == Array("abc".utf8))
        guard case .failed(let error) = end else {
            Issue.record("ended with \(end)")
            return
        }
        #expect(error.code == -1200)
        #expect(error.posix == 0)
    }

    @Test("a read reports an empty socket without another system call")
    func readReportsEmptySocketWithoutAnotherSystemCall() throws {
        let server = try ScriptedServer(tls: options().with { $0.sessionTickets = 0 }) { connection in
            _ = try connection.receive(exactly: 1)
            try connection.send("abc")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let client = try client(server)
        try client.write([1])
        #expect(try client.read(capacity: 100).1 == Array("abc".utf8))
        #expect(client.stream.isDrained)

        let greedy = try self.client(server)
        try greedy.write([1])
        #expect(try greedy.read(capacity: 2).1 == Array("ab".utf8))
        #expect(!greedy.stream.isDrained)
        #expect(try greedy.read(capacity: 2).1 == Array("c".utf8))
    }

    @Test("at most one buffer is read ahead when the reader stops") func oneBuffersWorthIsKeptWhenTheReaderStops()
        throws
    {
        let body = [UInt8].pattern(count: 1_000_000)
        let server = try ScriptedServer(tls: options()) { connection in
            try connection.send(body)
            connection.close()
        }
        defer { server.stop() }
        // Two connections on one thread, read in turn: neither gets data read ahead for the other.
        let clients = try [client(server), client(server)]
        var read: [[UInt8]] = [[], []]
        var open = [true, true]
        while open.contains(true) {
            for index in 0..<2 where open[index] {
                let (result, bytes) = try clients[index].read(capacity: 10_000 + index * 7_777)
                read[index] += bytes
                if case .bytes = result { continue }
                open[index] = false
            }
        }
        #expect(read == [body, body])
    }
}
