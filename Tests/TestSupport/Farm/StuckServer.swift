/// An HTTP/3 server that takes the beginning of a request's body and grants no more. It still acknowledges and answers
/// PINGs. A Python program on aioquic.
package final class StuckServer: Sendable {
    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it on all addresses. Returns when it answers.
    ///
    /// - Parameter count: How many bytes of a stream it takes.
    package init(taking count: Int, _ authority: TestCertificateAuthority, profile: CertificateProfile) throws {
        server = try AioquicScript(Self.script, authority, profile: profile, arguments: ["\(count)"])
    }

    /// The numbers of body bytes that came, in pieces.
    package var received: [Int] { server.lines.compactMap { Int($0) } }

    package func stop() { server.process.end() }

    private static let script = """
        import asyncio, sys
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.h3.connection import H3Connection
        from aioquic.h3.events import DataReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import HandshakeCompleted

        port, key, chain, count = sys.argv[1:]

        class Server(QuicConnectionProtocol):
            http = None

            def connection_made(self, transport):
                super().connection_made(transport)
                self._quic._write_stream_limits = lambda *_, **__: None

            def quic_event_received(self, event):
                if isinstance(event, HandshakeCompleted):
                    self.http = H3Connection(self._quic)
                if self.http is None:
                    return
                for received in self.http.handle_event(event):
                    if isinstance(received, DataReceived):
                        print(len(received.data), flush=True)

        \(AioquicScript.serving(at: "0.0.0.0", options: "idle_timeout=20, max_stream_data=int(count)"))
        """
}
