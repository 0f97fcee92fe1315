internal import Foundation

/// An HTTP/3 server that staples an OCSP response and resumes sessions. A Python program on aioquic.
package final class StaplingServer: Sendable {
    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it. Returns when it answers.
    ///
    /// - Parameter status: The status of its certificate in the response.
    package init(
        _ authority: TestCertificateAuthority, status: TestCertificateAuthority.RevocationStatus
    ) throws {
        server = try AioquicScript(Self.script, authority, stapling: status)
    }

    /// Its log: `new` or `resumed` for each complete handshake, and `closed` for the end of each connection.
    package var events: [String] { server.lines }

    package func stop() { server.process.end() }

    private static let script = """
        import asyncio, sys
        from aioquic import tls
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.h3.connection import H3Connection
        from aioquic.h3.events import HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted

        port, key, chain, file = sys.argv[1:]
        with open(file, "rb") as opened:
            response = opened.read()

        def block(octets, width):
            return len(octets).to_bytes(width, "big") + octets

        # RFC 8446 section 4.4.2.1: the extension status_request of the first certificate.
        extension = (5).to_bytes(2, "big") + block((1).to_bytes(1, "big") + block(response, 3), 2)
        push_certificate = tls.push_certificate

        def push_stapled(buffer, certificate):
            (leaf, _), *others = certificate.certificates
            certificate.certificates = [(leaf, extension)] + others
            push_certificate(buffer, certificate)

        tls.push_certificate = push_stapled
        tickets = {}

        class Server(QuicConnectionProtocol):
            http = None

            def quic_event_received(self, event):
                if isinstance(event, HandshakeCompleted):
                    self.http = H3Connection(self._quic)
                    print("resumed" if event.session_resumed else "new", flush=True)
                if isinstance(event, ConnectionTerminated):
                    print("closed", flush=True)
                if self.http is None:
                    return
                for received in self.http.handle_event(event):
                    if isinstance(received, HeadersReceived):
                        self.http.send_headers(received.stream_id, [(b":status", b"200")])
                        self.http.send_data(received.stream_id, b"h3", True)
                        self.transmit()

        async def main():
            configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"], idle_timeout=0.5)
            configuration.load_cert_chain(chain, key)
            await serve(
                "127.0.0.1", int(port), configuration=configuration, create_protocol=Server,
                session_ticket_fetcher=lambda label: tickets.pop(label, None),
                session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}))
            await asyncio.Event().wait()

        asyncio.run(main())
        """
}
