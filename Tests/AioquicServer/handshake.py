"""A server of QUIC that attacks whoever says hello to it: which attack is the last argument.

It attacks one client and then is deaf. The first datagram is a line of its output ("hello"), and so are what the client says of
the end ("closed 0xd", with a code of QUIC's) and how the attack ended: "over", since the port was closed, or "endless".
Most attacks are made of what anybody could send who has seen the first datagram.
"""

import asyncio
import hashlib
import os
import signal
import socket
import struct
import sys

from aioquic import tls
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import Buffer
from aioquic.buffer import encode_uint_var as number
from aioquic.quic import connection
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.crypto import CryptoError, CryptoPair
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted
from aioquic.quic.packet import encode_quic_retry, pull_quic_header
from aioquic.tls import Epoch

# In datagrams, each of which is as long as a path is sure to take.
MOST = 50_000
LENGTH = 1150
OWN_ID = b"s" * 8
INITIAL, HANDSHAKE = 0xC1, 0xE1


def say(line):
    print(line + "\n", end="", flush=True)


def head_of(first, id, payload):
    """What comes before the number and the payload of a packet of the handshake's."""
    token = b"\0" if first == INITIAL else b""
    length = struct.pack(">H", 0x4000 | len(payload) + 2 + 16)
    return bytes([first]) + struct.pack(">I", 1) + bytes([len(id)]) + id + bytes([len(OWN_ID)]) + OWN_ID + token + length


def extension(kind, body):
    return struct.pack(">HH", kind, len(body)) + body


def hello_retry(group):
    """RFC 8446 4.1.4"""
    extensions = extension(43, b"\3\4") + extension(51, struct.pack(">H", group))
    body = b"\3\3" + hashlib.sha256(b"HelloRetryRequest").digest() + b"\0\x13\1\0"
    body += struct.pack(">H", len(extensions)) + extensions
    return b"\2" + struct.pack(">I", len(body))[1:] + body


RETRY_MESSAGE = hello_retry(0x19)


def crypto(offset, data):
    return b"\6" + number(offset) + number(len(data)) + data


# The frames of an Initial packet, for each number of it.
INITIALS = {
    "pings": lambda n: b"\1",
    "many-pings": lambda n: b"\1" * LENGTH,
    "gaps": lambda n: b"".join(crypto(2 * (n * 200 + index) % 60_000 + 1, b"x") for index in range(200)),
    "far-hello": lambda n: crypto(1 << 20, b"x"),
    "long-hello": lambda n: crypto(n * 1000, (b"\2\xff\xff\xff" if n == 0 else b"") + bytes(996 if n == 0 else 1000)),
    "hello-retries": lambda n: crypto(n * len(RETRY_MESSAGE), RETRY_MESSAGE),
    "no-frames": lambda n: bytes(LENGTH),
    "unknown-frame": lambda n: b"\x3f",
    "stream-frame": lambda n: b"\x0a\0\1x",
}


class Attack:
    def __init__(self, name, port):
        self.name = name
        self.near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.near.bind(("127.0.0.1", port))

    def run(self):
        datagram, far = self.near.recvfrom(65536)
        head = pull_quic_header(Buffer(data=datagram), len(OWN_ID))
        self.id, self.first_id = head.source_cid, head.destination_cid
        self.keys = CryptoPair()
        self.keys.setup_initial(self.first_id, is_client=False, version=1)
        say("hello")
        # From now on the kernel reports a closed port.
        self.near.connect(far)
        self.near.setblocking(False)
        try:
            for index in range(MOST):
                self.send(index)
                self.receive()
            say("endless")
        except ConnectionRefusedError:
            # Its last words may have come before.
            self.receive()
            say("over")

    def send(self, index):
        if self.name in INITIALS:
            self.send_initial(index, INITIALS[self.name](index))
        elif self.name == "retries":
            self.near.send(encode_quic_retry(1, bytes([index % 256]) * 8, self.id, self.first_id, os.urandom(400)))
        elif self.name == "versions":
            ids = bytes([len(self.id)]) + self.id + bytes([len(self.first_id)]) + self.first_id
            self.near.send(b"\xc0" + bytes(4) + ids + struct.pack(">I", 0x0A0A0A0A) * 100)
        elif self.name == "keyless":
            # It may have come too early.
            rest = os.urandom(LENGTH)
            self.near.send(head_of(HANDSHAKE, self.id, rest) + rest + bytes(18))
        elif self.name == "short-heads":
            self.near.send(b"\x41" + self.id + os.urandom(LENGTH))
        else:
            raise ValueError(self.name)

    def send_initial(self, index, frames):
        # There has to be enough to protect the head with.
        frames = frames.ljust(4, b"\0")
        head = head_of(INITIAL, self.id, frames) + struct.pack(">H", index & 0xFFFF)
        self.near.send(self.keys.encrypt_packet(head, frames, index))

    def receive(self):
        try:
            datagram = self.near.recv(65536)
        except BlockingIOError:
            return
        buffer = Buffer(data=datagram)
        length = pull_quic_header(buffer, len(OWN_ID)).packet_length
        try:
            _, plain, _ = self.keys.decrypt_packet(datagram[:length], buffer.tell(), 0)
        except CryptoError:
            return
        if plain[0] == 0x1C:
            say(f"closed {Buffer(data=plain[1:]).pull_uint_var():#x}")


class Server(QuicConnectionProtocol):
    """Attacks that need the keys of the handshake."""

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted) and NAME == "key-update":
            self._quic._crypto_streams[Epoch.ONE_RTT].sender.write(b"\x18\0\0\1\0")
            self.transmit()
        if isinstance(event, ConnectionTerminated):
            say(f"closed {event.error_code:#x}")
            say("over")

    def connection_made(self, transport):
        super().connection_made(transport)
        say("hello")


def lengthen_certificates():
    connection.CRYPTO_BUFFER_SIZE = 1 << 20
    push = tls.push_certificate

    def push_many(buffer, message):
        message.certificates *= 400
        push(buffer, message)

    tls.push_certificate = push_many


async def serve_quic(port, key, chain):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"], idle_timeout=60)
    configuration.load_cert_chain(chain, key)
    await serve("127.0.0.1", port, configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


port, key, chain, NAME = sys.argv[1:]
if NAME == "long-certificate":
    lengthen_certificates()
if NAME in ("long-certificate", "key-update"):
    asyncio.run(serve_quic(int(port), key, chain))
Attack(NAME, int(port)).run()
# A program that reads nothing does not end.
signal.pause()
