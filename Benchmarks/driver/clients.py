"""The programs that are compared, and the arguments of each."""

from dataclasses import dataclass, field
from pathlib import Path

from .workloads import Workload

SMALL_WORK = ("w1", "w2a", "w2b", "w8")
TRANSFERS = ("w3", "w4", "w5")
COLD = ("w9", "w9s")
# Default sessions. Other clients load d1, d2 and d9 as they are; of the rest they have nothing.
DEFAULTS = ("d1", "d2", "d9")
CACHED = ("d3", "d4", "d5", "d6", "d7", "d8")
VERSION_1 = SMALL_WORK + TRANSFERS + COLD + DEFAULTS
VERSION_2 = ("h2a", "h2b", "h2c")
VERSION_3 = ("h3a", "h3b", "h3c")
MESSAGES = tuple(name + suffix for suffix in ("", "s") for name in ("e1", "e2", "e3", "e4", "e5"))


@dataclass(frozen=True)
class Client:
    name: str
    # The program's key in what build.py returns.
    program: str
    workloads: tuple[str, ...] = VERSION_1
    options: tuple[str, ...] = ()
    # Options for some workloads only.
    options_for: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # callgrind cannot follow a runtime that makes its own code or stacks.
    countable: bool = True
    # Whether it is a URLSession, which may have a cache and a jar.
    has_sessions: bool = False

    def command(
        self, program: list[str], workload: Workload, url: str, file: Path | None, upload: Path | None
    ) -> list[str]:
        command = [
            *program,
            *("--url", url),
            *("--requests", str(workload.requests)),
            *("--concurrency", str(workload.concurrency)),
            *("--connections", str(workload.connections)),
            *("--body", str(workload.body)),
            *self.options,
            *self.options_for.get(workload.name, ()),
        ]
        if self.has_sessions:
            command += workload.session
        if workload.version != 1:
            command += ["--version", str(workload.version)]
        if upload:
            command += ["--upload", str(upload)]
        return command + ["--file", str(file)] if file else command


def mode(name: str) -> tuple[str, ...]:
    return ("--mode", name)


def url_session(
    name: str, program: str, versions: tuple[str, ...], messages: tuple[str, ...] = ()
) -> list[Client]:
    """Every way to use URLSession. The first is what most people write for each kind of work."""
    many = tuple(workload for workload in versions if workload in ("h2a", "h3a"))
    return [
        Client(
            name,
            program,
            VERSION_1 + CACHED + versions + messages,
            options_for={
                **{workload: mode("echo") for workload in messages},
                **{workload: mode("completion") for workload in SMALL_WORK + COLD + DEFAULTS + CACHED + ("h2a", "h3a")},
                **{workload: mode("delegate") for workload in ("w3", "w4", "h2b", "h3b")},
                **{workload: mode("upload") for workload in ("h2c", "h3c")},
                "w5": mode("download"),
            },
            has_sessions=True,
        ),
        Client(f"{name}-delegate", program, SMALL_WORK + ("w5", "w9") + many, mode("delegate"), has_sessions=True),
        Client(
            f"{name}-async",
            program,
            SMALL_WORK + COLD + DEFAULTS + CACHED + many + messages,
            options_for={
                **{workload: mode("async") for workload in SMALL_WORK + COLD + DEFAULTS + CACHED + many},
                **{workload: mode("echo-async") for workload in messages},
            },
            has_sessions=True,
        ),
    ]


ALL = [
    Client("floor", "floor"),
    Client("h2load", "h2load", VERSION_2, countable=False),
    Client("gtlsclient", "gtlsclient", VERSION_3, countable=False),
    Client("curl", "curl-multi", VERSION_1 + VERSION_2),
    Client("curl-512k", "curl-multi", TRANSFERS + ("h2b", "h2c"), ("--buffer", "524288")),
    *url_session("ours", "url-session-ours", VERSION_2 + VERSION_3, MESSAGES),
    *url_session("fn", "url-session-toolchain", VERSION_2),
    Client("go", "go", VERSION_1 + VERSION_2, countable=False),
    Client("quic-go", "quic-go", VERSION_3, countable=False),
    Client("node", "node", VERSION_1 + VERSION_2, countable=False),
    Client("libwebsockets", "libwebsockets", MESSAGES),
    Client("gorilla", "go-websocket", MESSAGES, countable=False),
    Client("node-ws", "node", MESSAGES, ("--package", "/usr/share/nodejs/ws/wrapper.mjs"), countable=False),
    Client("node-own", "node-websocket", MESSAGES, countable=False),
]
# Only when named: a byte at a time is another subject than the transfer.
ON_REQUEST = [
    Client("ours-bytes", "url-session-ours", ("w3", "w4", "b1"), mode("bytes")),
    Client("ours-lines", "url-session-ours", ("b2",), mode("lines")),
]
BY_NAME = {client.name: client for client in ALL + ON_REQUEST}
# Not rivals: the floor and the load tools are no HTTP clients, and ours is not its own peer.
NOT_PEERS = ("floor", "h2load", "gtlsclient", "ours", "ours-delegate", "ours-async", "ours-bytes", "ours-lines")
# What a debug build is compared on: the programs that it concerns, and curl.
DEBUG = ("curl", "ours", "ours-delegate", "ours-async", "ours-bytes", "ours-lines", "fn", "fn-delegate", "fn-async")
DEBUG_WORKLOADS = ("w1", "w2a", "w3", "w5", "b1", "b2", "d1")


def reference(workload: Workload) -> str:
    """The client that ratios refer to: curl, unless it does not support the protocol."""
    if workload.messages:
        return "libwebsockets"
    return "quic-go" if workload.version == 3 else "curl"
