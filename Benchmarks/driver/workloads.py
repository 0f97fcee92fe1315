"""What is asked of every client, in the numbers it gets on its command line."""

from dataclasses import dataclass, replace

GIB = 1 << 30
MIB = 1 << 20
SMALL = 100


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    path: str
    requests: int = 1
    concurrency: int = 1
    connections: int = 1
    body: int = SMALL
    tls: bool = False
    to_file: bool = False
    # The major version of HTTP, which is the server's choice, but for 3.
    version: int = 1
    # Bytes of the body that each request has; without one it is a GET.
    upload: int = 0
    # WebSocket messages of `body` bytes that the server sends back, `concurrency` of them under way.
    messages: bool = False
    # Options for a URLSession whose cache or jar is part of the work.
    session: tuple[str, ...] = ()
    # What the figures are given for: 10,000 requests or messages, a GiB, or the start of one process.
    unit: str = "10k requests"
    # Runs for each one of the others.
    repetition_factor: int = 1
    # Seconds after which a client is ended.
    limit: int = 300

    @property
    def expected_bytes(self) -> int:
        return self.requests * self.body

    @property
    def moved_bytes(self) -> int:
        """What a transfer is about."""
        return self.requests * self.upload or self.expected_bytes

    @property
    def cold(self) -> bool:
        return self.unit == "start"

    def units(self) -> float:
        if self.unit.startswith("10k"):
            return self.requests / 10_000
        return self.moved_bytes / GIB if self.unit == "GiB" else 1

    def with_requests(self, requests: int) -> "Workload":
        return replace(
            self,
            requests=requests,
            concurrency=min(self.concurrency, requests),
            connections=min(self.connections, requests),
        )

    @property
    def rate_unit(self) -> str:
        return "MB/s" if self.unit == "GiB" else "messages/s" if self.messages else "req/s"

    def with_size(self, size: int) -> "Workload":
        if self.upload:
            return replace(self, upload=size)
        return replace(self, body=size, path=f"{self.path.rsplit('/', 1)[0]}/{size}")

    def quick(self) -> "Workload":
        """About a tenth of the work, for warming up and for trying things out."""
        if self.cold:
            return self
        quick = replace(self, title=f"{self.title} (quick: about a tenth)")
        if self.unit == "GiB" and not self.messages:
            return quick.with_size((self.upload or self.body) // 8)
        if self.path.startswith("/hold/"):
            quick = replace(quick, path="/hold/500")
        return quick.with_requests(self.requests // 10)


def transfer(name: str, title: str, body: int, **rest) -> Workload:
    return Workload(name, title, f"/bytes/{body}", body=body, unit="GiB", **rest)


def multiplexed(version: int) -> list[Workload]:
    """What there is to compare where one connection carries all."""
    rest = {"tls": True, "version": version}
    name = f"h{version}"
    return [
        Workload(f"{name}a", f"20,000 GET over HTTP/{version}, 100 in flight, one connection", "/small",
                 requests=20_000, concurrency=100, **rest),
        transfer(f"{name}b", f"2 GiB over HTTP/{version}, body discarded", 2 * GIB, **rest),
        Workload(f"{name}c", f"1 GiB sent from a file over HTTP/{version}", "/small", upload=GIB, unit="GiB", **rest),
    ]


def echo() -> list[Workload]:
    """Each over cleartext and TLS."""
    small, large = 32, 64 << 10
    work = [
        ("e1", "20,000 messages of 32 bytes, one connection, one under way", 20_000, 1, 1, small),
        ("e2", "100,000 messages of 32 bytes, one connection, 64 under way", 100_000, 64, 1, small),
        ("e3", "50,000 messages of 32 bytes, 100 connections, one under way on each", 50_000, 100, 100, small),
        ("e4", "4,096 messages of 64 KiB, one connection, one under way", 4_096, 1, 1, large),
        ("e5", "4,096 messages of 64 KiB, 100 connections, one under way on each", 4_096, 100, 100, large),
    ]
    return [
        Workload(
            name + ("s" if tls else ""), title + (", over TLS 1.3" if tls else ""), "/echo", count, under_way, connections,
            body, tls, messages=True, unit="GiB" if body == large else "10k messages",
        )
        for tls in (False, True)
        for name, title, count, under_way, connections, body in work
    ]


def default_sessions() -> list[Workload]:
    """What people write: a session with its cache, cookies and credentials. The numbers of requests are those of w1 and w2."""
    memory, disk = ("--session", "memory"), ("--session", "disk")
    return [
        Workload("d1", "20,000 sequential GET, default session", "/unstored", 20_000, session=memory),
        Workload("d2", "50,000 GET, 64 in flight, 6 connections, default session", "/unstored", 50_000, 64, 6,
                 session=memory),
        Workload("d9", "50,000 GET, 64 in flight, 64 connections, default session", "/unstored", 50_000, 64, 64,
                 session=memory),
        Workload("d3", "d1 with 10,000 other responses in the cache", "/unstored", 20_000,
                 session=(*memory, "--cached", "10000")),
        Workload("d4", "d1 with 3,000 cookies of other hosts", "/unstored", 20_000,
                 session=(*memory, "--cookies", "3000")),
        Workload("d5", "20,000 sequential hits in memory", "/fresh", 20_000, session=memory),
        Workload("d6", "20,000 sequential hits on disk", "/fresh", 20_000, session=disk),
        Workload("d7", "20,000 sequential GET, each stored in memory and on disk", "/fresh", 20_000,
                 session=(*memory, "--distinct", "yes")),
        Workload("d8", "20,000 sequential GET, each validated and stored again", "/small", 20_000, session=memory),
    ]


ALL = [
    Workload("w1", "20,000 sequential GET, one connection", "/small", requests=20_000),
    Workload("w2a", "50,000 GET, 64 in flight, 6 connections", "/small", 50_000, 64, 6),
    Workload("w2b", "50,000 GET, 64 in flight, 64 connections", "/small", 50_000, 64, 64),
    transfer("w3", "2 GiB, body discarded", 2 * GIB),
    transfer("w4", "2 GiB over TLS 1.3, body discarded", 2 * GIB, tls=True),
    transfer("w5", "1 GiB to a file", GIB, to_file=True),
    transfer("b1", "64 MiB read byte by byte", 64 * MIB),
    replace(transfer("b2", "64 MiB read line by line, of 64 bytes", 64 * MIB), path=f"/lines/{64 * MIB}"),
    Workload("w8", "10,000 requests at once, each held 2 s", "/hold/2000", 10_000, 10_000, 10_000),
    Workload("w9", "process start to first response", "/small", unit="start", repetition_factor=3, limit=60),
    Workload("w9s", "the same over TLS 1.3", "/small", tls=True, unit="start", repetition_factor=3, limit=60),
    *default_sessions(),
    *multiplexed(2),
    *multiplexed(3),
    *echo(),
]
BY_NAME = {workload.name: workload for workload in ALL}
