/// An HTTP/3 server that answers 421 (Misdirected Request) for some hosts. A Python program on aioquic.
package final class DecliningServer: Sendable {
    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it. Returns when it answers.
    ///
    /// - Parameters:
    ///   - hosts: The hosts that are answered with 421.
    ///   - profile: The profile of its certificate.
    package init(
        _ hosts: [String] = [], _ authority: TestCertificateAuthority, profile: CertificateProfile, at port: Int? = nil
    ) throws {
        server = try AioquicScript(Self.script, authority, profile: profile, at: port, arguments: hosts)
    }

    /// Its log: `connection` for each connection, and a line for each request.
    package var events: [String] { server.lines }

    package func stop() { server.process.end() }

    private static let script = """
        import asyncio, sys
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.h3.connection import H3Connection
        from aioquic.h3.events import DataReceived, HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import HandshakeCompleted

        port, key, chain, *declined = sys.argv[1:]

        class Server(QuicConnectionProtocol):
            http = None

            def connection_made(self, transport):
                super().connection_made(transport)
                self.hosts = {}
                print("connection", flush=True)

            def quic_event_received(self, event):
                if isinstance(event, HandshakeCompleted):
                    self.http = H3Connection(self._quic)
                if self.http is None:
                    return
                for received in self.http.handle_event(event):
                    if isinstance(received, HeadersReceived):
                        fields = dict(received.headers)
                        host = fields[b":authority"].decode().split(":")[0]
                        self.hosts[received.stream_id] = host
                        print(fields[b":method"].decode(), host, flush=True)
                    if isinstance(received, (DataReceived, HeadersReceived)) and received.stream_ended:
                        status = b"421" if self.hosts[received.stream_id] in declined else b"200"
                        self.http.send_headers(received.stream_id, [(b":status", status)])
                        self.http.send_data(received.stream_id, b"h3", True)
                        self.transmit()

        \(AioquicScript.serving())
        """
}
