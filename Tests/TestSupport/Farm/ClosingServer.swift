/// An HTTP/3 server that closes each connection, or accepts no more requests, in a selected way. A Python program on
/// aioquic.
package final class ClosingServer: Sendable {
    package enum Moment: String, CaseIterable, Sendable {
        /// Closes after the handshake, without an error.
        case handshake
        /// Closes after the handshake with a QUIC error that is not a TLS alert.
        case error
        /// Closes after the first request.
        case request
        /// Closes shortly after the first request with a TLS alert, although the handshake is confirmed.
        case alert
        /// As `request`, but after GOAWAY, so the request was not processed.
        case goAway
        /// Does not close: answers the first request, and allows no other.
        case never
    }

    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it. Returns when it answers.
    package init(at moment: Moment, _ authority: TestCertificateAuthority) throws {
        server = try AioquicScript(Self.script, authority, arguments: [moment.rawValue])
    }

    /// Its log: a line for each handshake and each request.
    package var events: [String] { server.lines }

    package func stop() { server.process.end() }

    private static let script = """
        import asyncio, sys
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.buffer import encode_uint_var
        from aioquic.h3.connection import FrameType, H3Connection, encode_frame
        from aioquic.h3.events import HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import HandshakeCompleted

        port, key, chain, moment = sys.argv[1:]

        class Server(QuicConnectionProtocol):
            http = None

            def connection_made(self, transport):
                super().connection_made(transport)
                if moment == "never":
                    self._quic._local_max_streams_bidi.value = 1
                    self._quic._write_connection_limits = lambda *_, **__: None

            def quic_event_received(self, event):
                if isinstance(event, HandshakeCompleted):
                    print("handshake", flush=True)
                    if moment == "handshake":
                        return self.end(0x100)
                    if moment == "error":
                        self._quic.close(error_code=0xA, frame_type=0, reason_phrase="no")
                        return self.transmit()
                    self.http = H3Connection(self._quic)
                if self.http is None:
                    return
                for received in self.http.handle_event(event):
                    if isinstance(received, HeadersReceived):
                        print(dict(received.headers)[b":method"].decode(), flush=True)
                        if moment == "goAway":
                            frame = encode_frame(FrameType.GOAWAY, encode_uint_var(0))
                            self._quic.send_stream_data(self.http._local_control_stream_id, frame)
                            self.transmit()
                            asyncio.get_running_loop().call_later(0.05, self.end, 0x100)
                        elif moment == "never":
                            self.http.send_headers(received.stream_id, [(b":status", b"200")])
                            self.http.send_data(received.stream_id, b"h3", True)
                            self.transmit()
                        elif moment == "alert":
                            asyncio.get_running_loop().call_later(0.05, self.alert)
                        else:
                            self.end(0x100)

            def alert(self):
                self._quic.close(error_code=0x150, frame_type=0, reason_phrase="no")
                self.transmit()

            def end(self, code):
                self._quic.close(error_code=code)
                self.transmit()

        \(AioquicScript.serving(options: "idle_timeout=2"))
        """
}
