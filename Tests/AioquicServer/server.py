"""An HTTP/3 server over aioquic for the tests.

GET, HEAD  /name       a file
           /status/N   a response of that status
           /redirect   302 to /small
           /guarded    the file "small", for the user "me" with the password "secret"
           /trailers   the file "small", with the trailer X-Checksum
           /held       the first bytes of a body that never ends
           /short      the first bytes of a body, and its end
           /broken     the first bytes of a body, and the stream is reset
           /dropped    nothing: the stream is reset
           /priority   what the request says of its priority (RFC 9218)
POST       /count      how many bytes came
CONNECT    /ws/...     a WebSocket; see frames.py for what follows
           /echo       what comes is sent back, up to its end
           /ended      a few bytes, and the end of this direction
           /reset      the stream is reset when something comes
           /declined   a response of the status 403
"""

import argparse
import asyncio
import base64
import pathlib
import signal

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted

from frames import WebSocket

CREDENTIALS = b"Basic " + base64.b64encode(b"me:secret")
HELD_LENGTH = 1_000_000
# Of /late.
SECONDS_LATE = 2.5


class Server:
    """What all connections share."""

    def __init__(self, files):
        self.connections = set()
        self.files = {"/" + path.name: path.read_bytes() for path in files.iterdir()}


class Connection(QuicConnectionProtocol):
    def __init__(self, *arguments, server, **options):
        super().__init__(*arguments, **options)
        self.server = server
        self.http = None
        self.requests = {}
        self.tunnels = {}
        self.web_sockets = {}

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.http = H3Connection(self._quic)
            self.server.connections.add(self)
        if self.http is None:
            return
        for what in self.http.handle_event(event):
            if isinstance(what, HeadersReceived) and dict(what.headers)[b":method"] == b"CONNECT":
                self.open_tunnel(what.stream_id, dict(what.headers))
                continue
            elif isinstance(what, DataReceived) and what.stream_id in self.tunnels:
                self.tunnelled(what)
                continue
            elif isinstance(what, HeadersReceived) and what.stream_id not in self.requests:
                self.requests[what.stream_id] = (dict(what.headers), 0)
            elif isinstance(what, DataReceived):
                fields, count = self.requests[what.stream_id]
                self.requests[what.stream_id] = (fields, count + len(what.data))
            else:
                continue
            if what.stream_ended:
                self.answer(what.stream_id, *self.requests.pop(what.stream_id))
        self.transmit()

    def connection_lost(self, error):
        self.server.connections.discard(self)
        super().connection_lost(error)

    def answer(self, stream, fields, count):
        method, path = fields[b":method"].decode(), fields[b":path"].decode()
        small = self.server.files["/small"]
        if path == "/count":
            self.send(stream, method, 200, str(count).encode())
        elif path == "/priority":
            self.send(stream, method, 200, fields.get(b"priority", b"none"))
        elif path == "/redirect":
            self.send(stream, method, 302, b"", [(b"location", b"/small")])
        elif path == "/guarded":
            if fields.get(b"authorization") == CREDENTIALS:
                self.send(stream, method, 200, small)
            else:
                self.send(stream, method, 401, b"", [(b"www-authenticate", b'Basic realm="r"')])
        elif path == "/trailers":
            self.send(stream, method, 200, small, trailers=[(b"x-checksum", b"abc")])
        elif path in ("/held", "/broken"):
            self.send_head(stream, 200, HELD_LENGTH, [])
            self.http.send_data(stream, bytes(1000), end_stream=False)
            if path == "/broken":
                self.reset(stream)
        elif path == "/short":
            self.send_head(stream, 200, HELD_LENGTH, [])
            self.http.send_data(stream, bytes(1000), end_stream=True)
        elif path == "/dropped":
            self.reset(stream)
        elif path == "/late":
            asyncio.get_running_loop().call_later(SECONDS_LATE, self.answer_late, stream, method)
        elif path.startswith("/status/"):
            self.send(stream, method, int(path.removeprefix("/status/")), b"")
        elif path in self.server.files:
            self.send(stream, method, 200, self.server.files[path])
        else:
            self.send(stream, method, 404, b"")

    def answer_late(self, stream, method):
        self.send(stream, method, 200, self.server.files["/small"])
        self.transmit()

    def open_tunnel(self, stream, fields):
        path = fields[b":path"].partition(b"?")[0].decode()
        if path == "/declined":
            return self.send(stream, "CONNECT", 403, b"")
        self.tunnels[stream] = path
        names = (b":protocol", b":scheme", b":authority", b":path")
        said = b" ".join(fields[name].split(b":")[0] for name in names)
        head = [(b":status", b"200"), (b"x-request", said)]
        if path.startswith("/ws/"):
            socket = WebSocket(path.removeprefix("/ws"), fields.get(b"sec-websocket-extensions", b""))
            self.web_sockets[stream] = socket
            head += socket.response_fields
        self.http.send_headers(stream, head)
        if path == "/ended":
            self.http.send_data(stream, b"bye", end_stream=True)

    def tunnelled(self, what):
        path = self.tunnels[what.stream_id]
        if path == "/reset":
            self.reset(what.stream_id)
        elif what.stream_id in self.web_sockets:
            data, ends = self.web_sockets[what.stream_id].receive(what.data)
            if ends:
                del self.web_sockets[what.stream_id]
            if data or ends:
                self.http.send_data(what.stream_id, data, end_stream=ends)
        elif path == "/echo":
            self.http.send_data(what.stream_id, what.data, end_stream=what.stream_ended)

    def reset(self, stream):
        # What the stream has to say goes out first.
        self.transmit()
        self._quic.reset_stream(stream, ErrorCode.H3_INTERNAL_ERROR)

    def send_head(self, stream, status, length, fields, end_stream=False):
        fields = [(b":status", str(status).encode()), *fields]
        if status not in (204, 304):
            fields.append((b"content-length", str(length).encode()))
        if status == 200:
            fields.append((b"content-type", b"application/octet-stream"))
        self.http.send_headers(stream, fields, end_stream=end_stream)

    def send(self, stream, method, status, body, fields=(), trailers=None):
        has_body = method != "HEAD" and len(body) > 0
        self.send_head(stream, status, len(body), fields, end_stream=not has_body and not trailers)
        if has_body:
            self.http.send_data(stream, body, end_stream=not trailers)
        if trailers:
            self.http.send_headers(stream, trailers, end_stream=True)

    def send_goaway(self):
        self._quic.close(error_code=ErrorCode.H3_NO_ERROR)
        self.transmit()


async def main(options):
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
    configuration.load_cert_chain(options.certificate, options.key)
    configuration.idle_timeout = options.idle_timeout
    server = Server(pathlib.Path(options.files))
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    await serve(
        "127.0.0.1",
        options.port,
        configuration=configuration,
        create_protocol=lambda *arguments, **more: Connection(*arguments, server=server, **more),
    )
    await end.wait()
    for connection in list(server.connections):
        connection.send_goaway()


parser = argparse.ArgumentParser()
for name in ("certificate", "key", "files"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--idle-timeout", type=float, required=True)
asyncio.run(main(parser.parse_args()))
