"""The server's end of a WebSocket (RFC 6455, RFC 7692), without a socket: octets in, octets out.

What it does depends on the path of the request:

/echo                  sends every message back
/fragments/N           the same in fragments of N octets
/close/CODE/REASON     closes with that code and reason after the first message
/drop                  ends the stream without a close frame after the first message
"""

import zlib

CONTINUATION, TEXT, CLOSE, PING, PONG = 0, 1, 8, 9, 10
FLUSH_MARKER = b"\x00\x00\xff\xff"


class WebSocket:
    def __init__(self, path, offer):
        self.words = path.strip("/").split("/")
        self.is_compressed = offer.startswith(b"permessage-deflate")
        self.inflater = zlib.decompressobj(-15)
        self.deflater = zlib.compressobj(wbits=-15)
        self.unread = bytearray()
        self.message = bytearray()
        self.kind = TEXT
        self.is_message_compressed = False
        self.has_closed = False

    @property
    def response_fields(self):
        return [(b"sec-websocket-extensions", b"permessage-deflate")] if self.is_compressed else []

    def receive(self, data):
        """The octets to send, and whether the stream ends after them."""
        self.unread += data
        output = []
        while True:
            frame = self.next_frame()
            if frame is None:
                return b"".join(output), False
            ends = self.handle(*frame, output)
            if ends:
                return b"".join(output), True

    def next_frame(self):
        data = self.unread
        if len(data) < 2:
            return None
        short = data[1] & 127
        extra = {126: 2, 127: 8}.get(short, 0)
        start = 6 + extra
        if len(data) < start:
            return None
        length = int.from_bytes(data[2 : 2 + extra], "big") if extra else short
        if len(data) < start + length:
            return None
        # As one number, because a loop over octets is slow.
        key = bytes(data[start - 4 : start])
        mask = int.from_bytes((key * (length // 4 + 1))[:length], "big")
        payload = (int.from_bytes(data[start : start + length], "big") ^ mask).to_bytes(length, "big")
        first = data[0]
        del data[: start + length]
        return first, payload

    def handle(self, first, payload, output):
        opcode = first & 15
        if opcode == PING:
            output.append(self.frame(PONG, payload))
        elif opcode == CLOSE:
            if not self.has_closed:
                output.append(self.frame(CLOSE, payload))
            return True
        elif opcode != PONG:
            if opcode != CONTINUATION:
                self.kind = opcode
                self.is_message_compressed = first & 64 != 0
                self.message = bytearray()
            self.message += payload
            if first & 128:
                return self.take(bytes(self.message), output)
        return False

    def take(self, message, output):
        if self.is_message_compressed:
            message = self.inflater.decompress(message + FLUSH_MARKER)
        if self.words[0] == "drop":
            return True
        if self.words[0] == "close":
            self.has_closed = True
            reason = self.words[2].encode() if len(self.words) > 2 else b""
            output.append(self.frame(CLOSE, int(self.words[1]).to_bytes(2, "big") + reason))
            return False
        size = int(self.words[1]) if self.words[0] == "fragments" else max(len(message), 1)
        if self.is_compressed:
            compressed = self.deflater.compress(message) + self.deflater.flush(zlib.Z_SYNC_FLUSH)
            message = compressed.removesuffix(FLUSH_MARKER) or b"\x00"
        parts = [message[start : start + size] for start in range(0, len(message), size)] or [b""]
        for index, part in enumerate(parts):
            opcode = CONTINUATION if index else self.kind | (64 if self.is_compressed else 0)
            output.append(self.frame(opcode, part, index == len(parts) - 1))
        return False

    @staticmethod
    def frame(opcode, payload, is_final=True):
        first = bytes([(128 if is_final else 0) | opcode])
        if len(payload) < 126:
            return first + bytes([len(payload)]) + payload
        if len(payload) < 65536:
            return first + b"\x7e" + len(payload).to_bytes(2, "big") + payload
        return first + b"\x7f" + len(payload).to_bytes(8, "big") + payload
