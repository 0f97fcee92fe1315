"""A WebSocket server over the package websockets for the tests.

/echo                  sends every message back
/fragments/N           the same in fragments of N octets, or characters
/close/CODE/REASON     closes with that code and reason after the first message
/pings/N               pings N times, waits for the pongs, and sends their number
/subprotocol           sends the name of the selected subprotocol, of "chat" and "superchat"
"""

import argparse
import asyncio
import signal
import ssl

import websockets


def parts(message, size):
    return [message[start:start + size] for start in range(0, len(message), size)] or [message]


async def serve(websocket):
    # Before version 14 the connection has the path itself.
    path = websocket.path if hasattr(websocket, "path") else websocket.request.path
    words = path.strip("/").split("/")
    if words[0] == "close":
        await websocket.recv()
        await websocket.close(int(words[1]), words[2] if len(words) > 2 else "")
    elif words[0] == "pings":
        count = int(words[1])
        for _ in range(count):
            await (await websocket.ping())
        await websocket.send(str(count))
        await websocket.wait_closed()
    elif words[0] == "subprotocol":
        await websocket.send(websocket.subprotocol or "none")
        await websocket.wait_closed()
    else:
        async for message in websocket:
            if words[0] == "fragments":
                await websocket.send(parts(message, int(words[1])))
            else:
                await websocket.send(message)


def select(first, second):
    """The first subprotocol of the client that is known; none, if it has none."""
    # Before version 14: the client's names and the server's. After it: the connection and the client's names.
    offered = first if isinstance(first, (list, tuple)) else second
    return next((name for name in offered if name in ("chat", "superchat")), None)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    options = parser.parse_args()
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.key)
    ended = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set_result, None)
    async with websockets.serve(
        serve, "127.0.0.1", options.port, ssl=context, max_size=None, subprotocols=["chat", "superchat"],
        select_subprotocol=select, ping_interval=None,
    ):
        await ended


asyncio.run(main())
