/// An HTTP/3 server that takes a number of requests on each connection, announces that with GOAWAY, and refuses the
/// others. The rest of the response to `/held` does not come. A Python program on aioquic.
package final class RequestLimitServer: Sendable {
    package var port: Int { server.process.port }
    private let server: AioquicScript

    /// Starts it. Returns when it answers.
    ///
    /// - Parameter limits: Of the first connections, in their order. The last applies to all others; 0 is none.
    package init(_ limits: [Int], _ authority: TestCertificateAuthority) throws {
        server = try AioquicScript(Self.script, authority, arguments: limits.map(String.init))
    }

    /// Its log: `connection` for each, and `request` or `refused` for each request.
    package func count(_ event: String) -> Int { server.lines.count { $0 == event } }

    package func stop() { server.process.end() }

    private static let script = """
        import asyncio, sys
        from aioquic.asyncio import QuicConnectionProtocol, serve
        from aioquic.buffer import encode_uint_var
        from aioquic.h3.connection import FrameType, H3Connection, encode_frame
        from aioquic.h3.events import HeadersReceived
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.events import HandshakeCompleted

        port, key, chain, *limits = sys.argv[1:]

        class Server(QuicConnectionProtocol):
            http = None
            is_leaving = False

            def quic_event_received(self, event):
                if isinstance(event, HandshakeCompleted):
                    print("connection", flush=True)
                    self.http = H3Connection(self._quic)
                    # The number of the first stream that is refused.
                    self.end = 4 * int(limits.pop(0) if len(limits) > 1 else limits[0])
                if self.http is None:
                    return
                for received in self.http.handle_event(event):
                    if isinstance(received, HeadersReceived):
                        self.answer(received.stream_id, dict(received.headers).get(b":path") == b"/held")

            def answer(self, stream, is_held):
                if self.end and stream >= self.end:
                    print("refused", flush=True)
                else:
                    print("request", flush=True)
                    self.http.send_headers(stream, [(b":status", b"200"), (b"content-type", b"application/json")])
                    self.http.send_data(stream, b"h3", not is_held)
                    self.transmit()
                if self.end and stream >= self.end - 4 and not self.is_leaving:
                    self.is_leaving = True
                    frame = encode_frame(FrameType.GOAWAY, encode_uint_var(self.end))
                    self._quic.send_stream_data(self.http._local_control_stream_id, frame)
                    self.transmit()

        \(AioquicScript.serving())
        """
}
