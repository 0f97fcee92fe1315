import Foundation
import LoadingPipeline
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

/// What becomes of a connection with TLS that a program has captured and released.
@Suite struct CapturedConnectionTests {
    /// Captures a connection with TLS.
    private struct Capture: Sendable {
        let captured: Watched<CapturedConnection?>
        let connector: SecureConnector

        /// By default nearly everything stays with the program, as the server has little room too.
        init(from server: ScriptedServer, on loop: EventLoop, sendBufferSize: Int32? = 4_096) throws {
            let captured = Watched<CapturedConnection?>(nil)
            self.captured = captured
            connector = try SecureConnector(to: server, on: loop, sendBufferSize: sendBufferSize) { stream in
                let connection = CapturedConnection(stream, rest: Data())
                captured.withValue { $0 = connection }
            }
        }

        var isClosed: Bool { get async { await connector.isClosed } }
    }

    /// Less than the program can send before anything is read, and more than the two kernels keep.
    private static let content = [UInt8](repeating: 0x61, count: 160_000)

    private func server(_ script: @escaping ScriptedServer.Script) throws -> ScriptedServer {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 4_096
        let identity = try TestIdentity.selfSigned(.localhost)
        return try ScriptedServer(options, tls: TLSServerOptions(identity), script: script)
    }

    /// Writes the content and releases the connection.
    private func leaveContent(
        to server: ScriptedServer, on loop: EventLoop, sendBufferSize: Int32? = 4_096, leavesBytesUnread: Bool = false
    ) async throws -> Capture {
        let capture = try Capture(from: server, on: loop, sendBufferSize: sendBufferSize)
        _ = try await capture.captured.wait(for: "the connection") { $0 }
        if leavesBytesUnread { try await eventually { capture.captured.current?.mayRead == true } }
        capture.captured.withValue { connection in
            #expect(Self.content.withUnsafeBytes { connection?.write($0) } == Self.content.count)
            connection = nil
        }
        return capture
    }

    // STREAM-7
    @Test("a peer that takes nothing of what was left is given up") func aPeerThatTakesNothing() async throws {
        let server = try server { try $0.stopReading() }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let capture = try await leaveContent(to: server, on: stepped.loop)
        // Until the kernels have taken what they keep, the peer may seem to take some of it.
        try await eventually {
            try? await stepped.step(by: stepped.limits.capturedPeer)
            return await capture.isClosed
        }
    }

    // STREAM-7
    @Test("a peer that begins late gets all that was left") func aPeerThatBeginsLate() async throws {
        let isLetGo = Signal("the program has let go")
        let server = try server { connection in
            try connection.wait(for: isLetGo)
            #expect(try connection.receive(exactly: Self.content.count) == Self.content)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let capture = try await leaveContent(to: server, on: EventLoops.assign())
        #expect(await !capture.isClosed)
        isLetGo.fire()
        try await server.finish()
        try await eventually { await capture.isClosed }
    }

    // STREAM-7: a closed socket would answer with a reset, which discards what the kernel has not sent yet
    @Test("a peer that sends after the end gets all that was left", arguments: [false, true])
    func aPeerThatSendsAfterTheEnd(leavesBytesUnread: Bool) async throws {
        let isLetGo = Signal("the program has let go, and all is with the kernel")
        let server = try server { connection in
            if leavesBytesUnread { try connection.send("unread") }
            try connection.wait(for: isLetGo)
            try connection.send("go on")
            #expect(try connection.receive(exactly: Self.content.count) == Self.content)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let capture = try await leaveContent(
            to: server, on: stepped.loop, sendBufferSize: nil, leavesBytesUnread: leavesBytesUnread)
        try await stepped.settle()
        isLetGo.fire()
        try await server.finish()
        #expect(try await server.connection(0).waitForEnd() == .closeNotify)
        try await eventually { await capture.isClosed }
    }

    // STREAM-7
    @Test("what came before a failed write is still read") func failedWrite() async throws {
        // More than the program's socket takes, so that some of it is with the relay or the kernel.
        let content = [UInt8].pattern(count: 600_000)
        let server = try server { connection in
            try connection.send(content)
            try connection.finishSending()
            try connection.waitForClose()
        }
        defer { server.stop() }
        let capture = try Capture(from: server, on: EventLoops.assign())
        let connection = try await capture.captured.wait(for: "the connection") { $0 }
        await capture.connector.breakWriting()
        try await eventually { [UInt8(0x61)].withUnsafeBytes { connection.write($0) } == -1 }
        #expect(connection.failure?.code == EPIPE)
        var received: [UInt8] = []
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
        defer { piece.deallocate() }
        var count: Int
        repeat {
            count = connection.read(into: piece)
            received += piece.prefix(max(count, 0))
        } while count > 0
        #expect(received == content)
        #expect(count == -1)
        try await server.finish()
    }
}
