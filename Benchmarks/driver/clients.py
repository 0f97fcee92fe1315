"""The programs that are compared, and how each is told what to do."""

from dataclasses import dataclass, field
from pathlib import Path

from .workloads import Workload

SMALL_WORK = ("w1", "w2a", "w2b", "w8")
TRANSFERS = ("w3", "w4", "w5")
COLD = ("w9", "w9s")
EVERYTHING = SMALL_WORK + TRANSFERS + COLD


@dataclass(frozen=True)
class Client:
    name: str
    # The program's key in what build.py returns.
    program: str
    workloads: tuple[str, ...] = EVERYTHING
    options: tuple[str, ...] = ()
    # Options for some workloads only.
    options_for: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # callgrind cannot follow a runtime that makes its own code or stacks.
    countable: bool = True

    def command(self, program: list[str], workload: Workload, url: str, file: Path | None) -> list[str]:
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
        return command + ["--file", str(file)] if file else command


def mode(name: str) -> tuple[str, ...]:
    return ("--mode", name)


def url_session(name: str, program: str) -> list[Client]:
    """Every way to use URLSession. The first is what most people write for each kind of work."""
    return [
        Client(
            name,
            program,
            options_for={
                **{workload: mode("completion") for workload in SMALL_WORK + COLD},
                **{workload: mode("delegate") for workload in ("w3", "w4")},
                "w5": mode("download"),
            },
        ),
        Client(f"{name}-delegate", program, SMALL_WORK + ("w5", "w9"), mode("delegate")),
        Client(f"{name}-async", program, SMALL_WORK + COLD, mode("async")),
    ]


ALL = [
    Client("floor", "floor"),
    Client("curl", "curl-multi"),
    Client("curl-512k", "curl-multi", TRANSFERS, ("--buffer", "524288")),
    *url_session("ours", "url-session-ours"),
    *url_session("fn", "url-session-toolchain"),
    Client("go", "go", countable=False),
    Client("node", "node", countable=False),
]
# Only when named: a byte at a time is another subject than the transfer.
ON_REQUEST = [Client("ours-bytes", "url-session-ours", ("w3", "w4"), mode("bytes"))]
BY_NAME = {client.name: client for client in ALL + ON_REQUEST}
# Not rivals: the floor is no HTTP client, and ours is not its own peer.
NOT_PEERS = ("floor", "ours", "ours-delegate", "ours-async", "ours-bytes")
