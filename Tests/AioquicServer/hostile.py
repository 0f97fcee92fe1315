"""An HTTP/3 server over aioquic that attacks its clients: the path of a request names the attack.

Each handshake is a line of its output, and so is the end of each attacked connection, with what the client has said of it:
"/pings http 0x107" with a code of HTTP/3's, "/pings quic 0x7" with one of QUIC's.

Packets of an attack are made here, past aioquic, which knows neither their frames nor that they were sent. What is not named
in a table is a request like any other, and gets a response.
"""

import asyncio
import os
import socket
import struct
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import Buffer
from aioquic.buffer import encode_uint_var as number
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnectionId
from aioquic.quic.crypto import CryptoError
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted
from aioquic.tls import Epoch

# What a client has to have ended the connection after, in packets.
MOST = 100_000
# Beyond what the kernel allows without privileges.
SO_RCVBUFFORCE = 33
DATAGRAM = 1150
WINDOW = 1 << 20

# ---- HTTP/3


def frame(kind, payload=b""):
    return number(kind) + number(len(payload)) + payload


def integer(first, bits, value):
    """A number behind the first bits of an octet (RFC 9204 4.1.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    value -= most
    octets = [first | most]
    while value >= 128:
        octets.append(value % 128 | 128)
        value //= 128
    return bytes(octets + [value])


def field(name, value):
    return integer(0x20, 3, len(name)) + name + integer(0, 7, len(value)) + value


def headers(*fields):
    return frame(1, b"\0\0" + b"".join(field(name, value) for name, value in fields))


def head(status, *fields):
    return headers((b":status", status), *fields)


def insertion(name, value):
    """An instruction for the table."""
    return integer(0x40, 5, len(name)) + name + integer(0, 7, len(value)) + value


def capacity(count):
    return integer(0x20, 5, count)


DATA = frame(0, b"x")
SETTINGS = frame(4)
OK = head(b"200")
# Needs the first entry of the table, which has 128 at most, and names it so often.
def needing(count):
    return frame(1, b"\x02\0" + field(b":status", b"200") + b"\x80" * count)


# Said on the stream of the request.
ON_REQUEST = {
    "/data-before-head": DATA,
    "/settings-on-request": SETTINGS,
    "/goaway-on-request": frame(7, b"\0"),
    "/promise": frame(5, b"\0\0\0"),
    "/cancelled-push": frame(3, b"\0"),
    "/frame-of-http2": frame(6),
    "/bad-section": frame(1, b"\xff\xff\xff"),
    "/missing-entry": frame(1, b"\0\0\x80"),
    "/data-behind-trailers": OK + headers((b"a", b"b")) + DATA,
    "/no-status": headers((b"a", b"b")),
    "/two-statuses": headers((b":status", b"200"), (b":status", b"200")),
    "/late-status": headers((b"a", b"b"), (b":status", b"200")),
    "/capitals": head(b"200", (b"Content-Type", b"x")),
    "/field-of-connection": head(b"200", (b"connection", b"close")),
    "/field-of-request": head(b"200", (b":path", b"/")),
    "/length-that-is-none": head(b"200", (b"content-length", b"x")),
    "/too-long": head(b"200", (b"content-length", b"2")) + frame(0, b"abc"),
    "/long-section": head(b"200", *[(b"a", b"b" * 60_000)] * 5),
    "/long-value": head(b"200", (b"a", b"b" * 70_000)),
    "/huge-section": head(b"200", (b"a", b"b" * 1_200_000)),
    "/endless-section": number(1) + number(1 << 40) + b"\0\0",
    "/many-fields": head(b"200", *[(b"a", b"b")] * 2_100),
    "/interim": head(b"103") * 100,
}
# The same, with the end of the stream.
ENDING_REQUEST = {
    "/nothing": b"",
    "/no-final-response": head(b"103"),
    "/too-short": head(b"200", (b"content-length", b"4")) + frame(0, b"abc"),
    "/cut-frame": OK + frame(0, b"abc")[:-1],
}
# Said on a stream of the connection's: 3 for control, 7 and 11 for field compression.
ON_STREAM = {
    "/settings-twice": (3, SETTINGS),
    "/data-on-control": (3, DATA),
    "/head-on-control": (3, OK),
    "/http2-on-control": (3, frame(8)),
    "/push-limit": (3, frame(13, b"\0")),
    "/goaway-for-no-request": (3, frame(7, b"\1")),
    "/goaway-rising": (3, frame(7, b"\4") + frame(7, b"\x08")),
    "/huge-table": (7, capacity(1 << 20)),
    "/entry-without-room": (7, capacity(4096) + insertion(b"a", bytes(5000))),
    "/copy-of-nothing": (7, b"\0"),
    "/acknowledged-nothing": (11, b"\xbc"),
    "/counted-nothing": (11, b"\0"),
}
# The same, on a stream that begins with it.
ON_NEW_STREAM = {
    "/second-control": b"\0" + SETTINGS,
    "/second-encoder": b"\2",
    "/push": b"\1\0",
}


# ---- QUIC


def stream(id, offset, data, fin=False):
    return number(0x0E | fin) + number(id) + number(offset) + number(len(data)) + data


def connection_id(sequence, retired, id):
    return b"\x18" + number(sequence) + number(retired) + bytes([len(id)]) + id + bytes(16)


# The frames of one packet.
PACKET = {
    "/unknown-frame": b"\x3f",
    "/cut-stream-frame": b"\x0a\0" + number(100) + b"abc",
    "/own-stream": stream(2, 0, b"x"),
    "/unopened-stream": stream(400, 0, b"x"),
    "/servers-request": stream(1, 0, b"x"),
    "/one-stream-more": stream(3 + 4 * 60, 0, b"x"),
    "/beyond-window": stream(0, WINDOW, b"x"),
    "/beyond-all-windows": stream(0, (1 << 62) - 2, b"x"),
    "/beyond-end": stream(0, 0, b"", fin=True) + stream(0, 5, b"x"),
    "/two-ends": stream(0, 0, b"", fin=True) + stream(0, 5, b"x", fin=True),
    "/reset-before-data": stream(0, 100, b"x") + b"\4\0" + number(0x102) + number(5),
    "/reset-own-stream": b"\4\2\0\0",
    "/stop-servers-stream": b"\5\3\0",
    "/stop-unopened-stream": b"\5" + number(400) + b"\0",
    "/window-of-servers-stream": b"\x11\3\5",
    "/too-many-streams": b"\x12" + b"\xff" * 8,
    "/id-retired-by-itself": connection_id(8, 9, bytes(8)),
    "/id-without-length": connection_id(8, 0, b""),
    "/id-of-21-octets": connection_id(8, 0, bytes(21)),
    "/ids-beyond-limit": b"".join(connection_id(8 + n, 0, struct.pack(">Q", n)) for n in range(8)),
    "/id-again": connection_id(8, 8, b"a" * 8) + connection_id(8, 8, b"b" * 8),
    "/unknown-id-retired": b"\x19" + number(100),
    "/empty-token": b"\7\0",
    "/message": b"\x31\1x",
    "/acknowledged-unsent": b"\2" + number(1 << 30) + b"\0\0\0",
    "/garbled-handshake": b"\6\0\x08" + b"\x63\0\0\4abcd",
    "/far-handshake": b"\6" + number(1 << 17) + b"\1x",
    "/stopped-decoder": b"\5\x0a\0",
    "/stopped-control": b"\5\2\0",
    "/reset-control": b"\4\3\0" + number(1 << 10),
    "/reset": b"\4\0" + number(0x102) + b"\0",
}
# The same, without harm: a response follows.
HARMLESS_PACKET = {
    "/blocked": b"\x14\0" + b"\x16\0" + b"\x17\0",
    "/answer-to-no-challenge": b"\x1b" + bytes(8),
    "/token": b"\7\4abcd",
    "/done-again": b"\x1e" * 10,
    "/padding": b"\0" * 1000,
    "/stop-request": b"\5\0" + number(0x100),
    "/windows-that-shrink": b"\x10\0" + b"\x11\0\0" + b"\x12\0" + b"\x13\0",
    "/unknown-stream": stream(15, 0, number(0x21) + b"abc", fin=True),
    "/unknown-stream-reset": b"\4\x0f" + number(0x10E) + b"\0",
    "/late-first": stream(15, 1, b"abc", fin=True) + stream(15, 0, b"\x21"),
}
# Messages of TLS that come behind the handshake.
MESSAGE = {
    "/key-update": b"\x18\0\0\1\0",
    "/key-update-asked": b"\x18\0\0\1\1",
    "/long-message": b"\4\xff\xff\xff" + bytes(1 << 18),
}
HARMLESS_ON_STREAM = {
    "/unknown-frames": (3, frame(0x21, b"abc") + frame(0x40)),
    "/goaway": (3, frame(7, b"\4") + frame(7, b"\4")),
    "/table": (7, capacity(4096) + insertion(b"color", b"blue")),
}


def fill(make):
    """As many frames as a packet has room for, the number of the first of them given."""

    def packet(index):
        frames = b""
        count = index * 1000
        while len(frames) < DATAGRAM - 50:
            frames += make(count)
            count += 1
        return frames

    return packet


def sparse(index):
    """Every other octet of as many streams as there may be."""
    frames = b""
    place = index * 190
    while len(frames) < DATAGRAM - 20:
        id, offset = divmod(place, WINDOW // 2 - 1)
        frames += stream(15 + 4 * min(id, 12), 2 * offset + 2, b"x")
        place += 1
    return frames


# The frames of a packet, for each number of it: sent until the client ends the connection.
FLOOD = {
    "/pings": lambda n: b"\1",
    "/many-pings": lambda n: b"\1" * DATAGRAM,
    "/much-padding": lambda n: b"\0" * DATAGRAM,
    "/windows": fill(lambda n: b"\x10" + number(1 << 30)),
    "/streams": fill(lambda n: b"\x12" + number(100 + n)),
    "/windows-of-request": fill(lambda n: b"\x11\0" + number(1 << 20)),
    "/blocks": fill(lambda n: b"\x14\0"),
    "/challenges": fill(lambda n: b"\x1a" + struct.pack(">Q", n)),
    "/answers": fill(lambda n: b"\x1b" + struct.pack(">Q", n)),
    "/tokens": lambda n: b"\7" + number(1000) + bytes(1000),
    "/stops": fill(lambda n: b"\5\0" + number(n)),
    "/resets-of-streams": fill(lambda n: b"\4" + number(15 + 4 * (n % 8)) + b"\0\0"),
    "/same-data": lambda n: stream(0, 0, OK + frame(0, bytes(900))),
    "/ids": lambda n: connection_id(8 + n, 8 + n, struct.pack(">Q", n)),
    "/gaps": sparse,
    "/handshake-gaps": fill(lambda n: b"\6" + number(2 * (n % 30_000) + 1) + b"\1x"),
    "/acknowledgements": lambda n: b"\2\0\0\0\0\1",
    "/reset-stream": lambda n: b"\4\0" + number(0x102) + b"\0",
}
# What is said without end on a stream: that of the request for 0, after what comes once.
STREAM_FLOOD = {
    "/empty-data": (0, OK, frame(0)),
    "/unknown-on-request": (0, OK, frame(0x21)),
    "/long-unknown": (0, OK, frame(0x21, bytes(10_000))),
    "/progress": (0, b"", head(b"104")),
    "/settings-unknown": (3, b"", frame(0x21)),
    "/goaways": (3, b"", frame(7, b"\4")),
    "/insertions": (7, capacity(4096), insertion(b"a", b"b" * 1000)),
    "/copies": (7, capacity(4096) + insertion(b"a", b"b"), b"\0"),
    "/capacities": (7, b"", capacity(4096) + capacity(0)),
    "/bomb": (7, capacity(4096) + insertion(b"a", b"b" * 3000), None),
}


class Server(QuicConnectionProtocol):
    http = None
    is_through = False
    name = "/"
    is_over = False
    is_deaf = False

    def datagram_received(self, data, addr):
        if self.is_through and data[0] & 0x80 == 0:
            self.hear_end(data)
        # A flood has no time to read more.
        if not self.is_deaf:
            super().datagram_received(data, addr)

    def hear_end(self, data):
        """aioquic waits for a while before it reports the end."""
        space = self._quic._spaces[Epoch.ONE_RTT]
        try:
            _, plain, index = self._quic._cryptos[Epoch.ONE_RTT].decrypt_packet(
                data, 1 + len(self._quic.host_cid), space.expected_packet_number)
        except CryptoError:
            return
        if self.is_deaf:
            space.expected_packet_number = max(space.expected_packet_number, index + 1)
        if plain[0] in (0x1C, 0x1D):
            code = Buffer(data=plain[1:]).pull_uint_var()
            self.end("http" if plain[0] == 0x1D else "quic", code)

    def end(self, kind, code):
        if not self.is_over:
            print(f"{self.name} {kind} {code:#x}\n", end="", flush=True)
        self.is_over = True

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            print("handshake\n", end="", flush=True)
            self.is_through = True
            self.http = H3Connection(self._quic)
        if isinstance(event, ConnectionTerminated):
            self.end("http" if event.frame_type is None else "quic", event.error_code)
        for heard in self.http.handle_event(event) if self.http else []:
            if isinstance(heard, HeadersReceived):
                self.name = dict(heard.headers)[b":path"].decode()
                self.attack(heard.stream_id)

    def attack(self, id):
        name = self.name
        tables = {**ON_STREAM, **STREAM_FLOOD, **HARMLESS_ON_STREAM}
        if tables.get(name, [0])[0] == 7 or name.startswith("/stopped"):
            # aioquic would not know what the client says of it.
            self.http = None
        if name in ON_REQUEST:
            self.say(id, ON_REQUEST[name])
        elif name in ENDING_REQUEST:
            self.say(id, ENDING_REQUEST[name], True)
        elif name in ON_STREAM:
            self.say(*ON_STREAM[name])
        elif name in ON_NEW_STREAM:
            self.say(self._quic.get_next_available_stream_id(is_unidirectional=True), ON_NEW_STREAM[name])
        elif name == "/closed-control":
            self.say(3, b"", True)
        elif name in PACKET:
            self.packet(PACKET[name])
        elif name in MESSAGE:
            self._quic._crypto_streams[Epoch.ONE_RTT].sender.write(MESSAGE[name])
            self.transmit()
        elif name == "/reserved-bits":
            self.packet(b"\1", 0x18)
        elif name == "/tickets":
            self.start(self.flood_tickets())
        elif name == "/junk":
            self.start(self.send_junk(id))
        elif name == "/replays":
            self.start(self.replay(id))
        elif name in FLOOD:
            self.start(self.flood(FLOOD[name]))
        elif name in STREAM_FLOOD:
            self.start(self.flood_stream(id, *STREAM_FLOOD[name]))
        else:
            if name in HARMLESS_PACKET:
                self.packet(HARMLESS_PACKET[name])
            elif name == "/new-streams":
                # As many as the client allows go out.
                for _ in range(100):
                    self.say(self._quic.get_next_available_stream_id(is_unidirectional=True), b"\x21", True)
            elif name in HARMLESS_ON_STREAM:
                self.say(*HARMLESS_ON_STREAM[name])
            self.say(id, OK + frame(0, b"well"), True)

    def say(self, id, data, is_end=False):
        self._quic.send_stream_data(id, data, is_end)
        self.transmit()

    def packet(self, frames, bits=0):
        """Sends a packet of the application's that has these frames."""
        self._transport.sendto(self.sealed(frames, bits), self._quic._network_paths[0].addr)

    def sealed(self, frames, bits=0):
        quic = self._quic
        crypto = quic._cryptos[Epoch.ONE_RTT]
        first = 0x41 | crypto.key_phase << 2 | bits
        head = bytes([first]) + quic._peer_cid.cid + struct.pack(">H", quic._packet_number & 0xFFFF)
        # There has to be enough to protect the head with.
        frames = frames.ljust(2, b"\0")
        packet = crypto.encrypt_packet(head, frames, quic._packet_number)
        quic._packet_number += 1
        return packet

    def start(self, flood):
        self.task = asyncio.get_running_loop().create_task(flood)

    def widen_buffer(self):
        near = self._transport.get_extra_info("socket")
        for option in (socket.SO_RCVBUF, SO_RCVBUFFORCE):
            try:
                near.setsockopt(socket.SOL_SOCKET, option, 8 << 20)
            except PermissionError:
                pass  # The unprivileged limit has to do.

    async def flood(self, make):
        self.is_deaf = True
        self.widen_buffer()
        for index in range(MOST):
            if self.is_over:
                return
            if make is FLOOD["/ids"]:
                self.know(8 + index)
            self.packet(make(index))
            # One datagram of the client's is read in each turn, and it sends one for two. The last one must not be lost, since
            # nothing else shows that the client is gone.
            await asyncio.sleep(0)
        print(f"{self.name} endless\n", end="", flush=True)

    async def flood_stream(self, id, stream, opening, data):
        id = stream or id
        self.say(id, opening)
        if data is None:
            # The table has it before it is needed.
            return self.say(0, needing(2_000))
        data *= 1000 // len(data) + 1
        for _ in range(MOST):
            if self.is_over:
                return
            self.say(id, data)
            await asyncio.sleep(0)
            while len(self._quic._streams[id].sender._buffer) > 100_000 and not self.is_over:
                await asyncio.sleep(0.001)
        print(f"{self.name} endless\n", end="", flush=True)

    async def send_junk(self, id):
        """Datagrams that could be the connection's and cannot be decrypted, before the response."""
        for index in range(20_000):
            self._transport.sendto(
                b"\x41" + self._quic._peer_cid.cid + os.urandom(30), self._quic._network_paths[0].addr)
            if index % 16 == 0:
                await asyncio.sleep(0.0002)
        self.say(id, OK + frame(0, b"well"), True)

    async def replay(self, id):
        """Packets of the connection's once more, as an attacker on the path could, before the response."""
        packets = [self.sealed(b"\1") for _ in range(100)]
        for index in range(20_000):
            self._transport.sendto(packets[index % len(packets)], self._quic._network_paths[0].addr)
            if index % 16 == 0:
                await asyncio.sleep(0.0002)
        self.say(id, OK + frame(0, b"well"), True)

    async def flood_tickets(self):
        """Tickets that no session can be resumed with, in the order of the handshake's messages."""
        ticket = struct.pack(">IIB", 3600, 0, 1) + b"\0" + struct.pack(">H", 500) + os.urandom(500) + b"\0\0"
        message = b"\4" + struct.pack(">I", len(ticket))[1:] + ticket
        for _ in range(2_000):
            if self.is_over:
                return
            self._quic._crypto_streams[Epoch.ONE_RTT].sender.write(message)
            self.transmit()
            await asyncio.sleep(0.0005)
        print(f"{self.name} endless\n", end="", flush=True)

    def know(self, sequence):
        """The client may use this one from now on."""
        id = struct.pack(">Q", sequence - 8)
        # aioquic gives out none of its own beside them.
        self._quic._remote_active_connection_id_limit = 0
        self._quic._host_cid_seq = sequence + 1
        self._quic._host_cids.append(QuicConnectionId(cid=id, sequence_number=sequence, was_sent=True))
        del self._quic._host_cids[:-20]
        self._connection_id_issued_handler(id)


async def main():
    port, key, chain = sys.argv[1:]
    # A flood reads nothing meanwhile, and has to be longer than what a client on a busy machine takes with it.
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"], idle_timeout=60)
    configuration.load_cert_chain(chain, key)
    await serve("127.0.0.1", int(port), configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
