import Foundation
import LoadingPipeline
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

/// What becomes of a connection with TLS that a program has captured and let go of.
@Suite struct CapturedConnectionTests {
    /// Connects, puts TLS over the connection and captures it. Confined to its loop but for what it has recorded.
    private final class Capture: ByteStreamOwner, @unchecked Sendable {
        // Sendable because what is mutable is touched on the loop only.

        let captured = Watched<CapturedConnection?>(nil)
        private let loop: EventLoop
        private let context: TLSContext
        private var stream: ByteStream?

        init(from server: ScriptedServer, on loop: EventLoop) async throws {
            var configuration = TLSConfiguration()
            configuration.roots = .only([])
            context = try TLSContext(configuration)
            self.loop = loop
            let port = UInt16(server.port)
            loop.post { [self] in
                guard let address = SocketAddress(literal: "127.0.0.1", port: port) else { return }
                stream = try? ByteStream.connect(to: address, on: loop, owner: self)
                guard let stream else { return }
                // With this and the server's little room nearly everything stays with the program.
                var size: Int32 = 4_096
                setsockopt(stream.descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
            }
        }

        func streamBecameReady(_ stream: ByteStream) {
            if stream.tls == nil {
                guard case .success? = stream.finishConnecting(),
                    let tls = try? TLSStream(
                        context: context, descriptor: stream.descriptor, serverName: "localhost")
                else { return }
                stream.secure(with: tls)
            }
            while true {
                switch stream.handshake() {
                case .complete:
                    let connection = CapturedConnection(stream, rest: Data())
                    return captured.withValue { $0 = connection }
                case .wantsTrust: stream.tls?.decideTrust(.accept)
                case .wantsIdentity: stream.tls?.provideIdentity(nil)
                case .wantsRead, .wantsWrite, .failed: return
                }
            }
        }

        var isClosed: Bool {
            get async {
                await withCheckedContinuation { continuation in
                    loop.post { [self] in continuation.resume(returning: stream?.isClosed ?? true) }
                }
            }
        }
    }

    /// Less than the program can get rid of before anybody takes anything, and more than the two kernels keep.
    private static let content = [UInt8](repeating: 0x61, count: 160_000)

    private func server(_ script: @escaping ScriptedServer.Script) throws -> ScriptedServer {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 4_096
        let identity = try TestIdentity.selfSigned(.localhost)
        return try ScriptedServer(options, tls: TLSServerOptions(identity), script: script)
    }

    /// Writes the content and lets go of the connection.
    private func leaveContent(to server: ScriptedServer, on loop: EventLoop) async throws -> Capture {
        let capture = try await Capture(from: server, on: loop)
        _ = try await capture.captured.wait(for: "the connection") { $0 }
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
}
