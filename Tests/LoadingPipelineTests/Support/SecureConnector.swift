import Foundation
import LoadingTransport
import TestSupport

/// Connects to a server on loopback and puts TLS over the connection, whatever the server's certificate. Confined to
/// its loop.
final class SecureConnector: ByteStreamOwner, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    private let loop: EventLoop
    private let context: TLSContext
    private let sendBufferSize: Int32?
    private let secured: @Sendable (ByteStream) -> Void
    private var stream: ByteStream?

    /// - Parameter secured: Called on the loop, with the connection that the test then owns.
    init(
        to server: ScriptedServer, on loop: EventLoop, sendBufferSize: Int32? = nil,
        _ secured: @escaping @Sendable (ByteStream) -> Void
    ) throws {
        var configuration = TLSConfiguration()
        configuration.roots = .only([])
        context = try TLSContext(configuration)
        self.loop = loop
        self.sendBufferSize = sendBufferSize
        self.secured = secured
        let port = UInt16(server.port)
        loop.post { [self] in
            guard let address = SocketAddress(literal: "127.0.0.1", port: port) else { return }
            stream = try? ByteStream.connect(to: address, on: loop, owner: self)
            guard let stream, var size = sendBufferSize else { return }
            setsockopt(stream.descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
        }
    }

    func streamBecameReady(_ stream: ByteStream) {
        if stream.tls == nil {
            guard case .success? = stream.finishConnecting(),
                let tls = try? TLSStream(context: context, descriptor: stream.descriptor, serverName: "localhost")
            else { return }
            stream.secure(with: tls)
        }
        while true {
            switch stream.handshake() {
            case .complete: return secured(stream)
            case .wantsTrust: stream.tls?.decideTrust(.accept)
            case .wantsIdentity: stream.tls?.provideIdentity(nil)
            case .wantsRead, .wantsWrite, .failed: return
            }
        }
    }

    /// Makes each further write of the connection fail, as if the peer took no more, while what it sends still comes.
    func breakWriting() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.post { [self] in
                if let stream { shutdown(stream.descriptor, Int32(SHUT_WR)) }
                continuation.resume()
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
