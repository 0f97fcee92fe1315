/// An HTTP/3 server that answers early data with 425 (Too Early, RFC 8470). A Python program on aioquic.
package final class TooEarlyServer: Sendable {
    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it. Returns when it answers.
    package init(_ authority: TestCertificateAuthority) throws {
        server = try AioquicScript(Self.script, authority)
    }

    /// Its log: a line when it is ready, then one for each request.
    package var requests: [String] { server.lines }

    package func stop() { server.process.end() }

    private static let script = """
        import asyncio, sys
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.h3.connection import H3Connection
        from aioquic.h3.events import HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated

        class Server(QuicConnectionProtocol):
            http = None
            is_complete = False

            def quic_event_received(self, event):
                if isinstance(event, ProtocolNegotiated):
                    self.http = H3Connection(self._quic)
                if isinstance(event, HandshakeCompleted):
                    self.is_complete = True
                if self.http is None:
                    return
                for received in self.http.handle_event(event):
                    if isinstance(received, HeadersReceived):
                        path = dict(received.headers)[b":path"].decode()
                        is_late = self.is_complete and not path.endswith("never")
                        print("late" if self.is_complete else "early", path, flush=True)
                        status = b"200" if is_late else b"425"
                        self.http.send_headers(received.stream_id, [(b":status", status)])
                        self.http.send_data(received.stream_id, status, True)
                        self.transmit()

        async def main():
            port, key, chain = sys.argv[1:]
            configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"], idle_timeout=0.3)
            configuration.load_cert_chain(chain, key)
            tickets = {}
            await serve(
                "127.0.0.1", int(port), configuration=configuration, create_protocol=Server,
                session_ticket_fetcher=lambda label: tickets.pop(label, None),
                session_ticket_handler=lambda ticket: tickets.__setitem__(ticket.ticket, ticket))
            print("there", flush=True)
            await asyncio.Event().wait()

        asyncio.run(main())
        """
}
