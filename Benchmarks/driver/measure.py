"""Runs the clients against the server and keeps what each run cost."""

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .clients import Client
from .processes import client_cpus, run_on
from .server import Server, network_counter
from .workloads import Workload


@dataclass
class Sample:
    workload: str
    client: str
    requests: int = 0
    bytes: int = 0
    seconds: float = 0
    cpu: float = 0
    process_cpu: float = 0
    peak_rss_kb: int = 0
    start_ms: float = 0
    server_cpu: float = 0
    # As the server or the kernel counted them; 0 where neither does.
    connections: int = 0
    load: float = 0
    # Why the run does not count; empty when it does.
    failure: str = ""


class Bench:
    def __init__(
        self, servers: dict[int, Server], programs: dict[str, list[str]], environment: dict[str, str], folder: Path,
        pinned: bool = True,
    ):
        # By version of HTTP.
        self.servers = servers
        self.programs = programs
        self.folder = folder
        # Whether a client whose time is measured has one CPU.
        self.pinned = pinned
        inherited = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            inherited.pop(name, None)
        # Caches and jars are in the home.
        self.home = folder / "home"
        self.environment = inherited | environment | {"TMPDIR": str(folder), "HOME": str(self.home)}

    def command(self, client: Client, workload: Workload) -> tuple[list[str], Path | None]:
        # Each run begins with no cache and no jar.
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        file = self.folder / "body" if workload.to_file else None
        upload = self.upload(workload.upload) if workload.upload else None
        url = self.servers[workload.version].url(workload)
        return client.command(self.programs[client.program], workload, url, file, upload), file

    def upload(self, size: int) -> Path:
        path = self.folder / f"upload-{size}"
        if not path.exists():
            self.write(path, size)
        return path

    def run(self, client: Client, workload: Workload) -> Sample:
        command, file = self.command(client, workload)
        if file:
            self.touch_pages(workload.body)
        load = os.getloadavg()[0]
        server = self.servers[workload.version]
        server_before, connections_before, octets_before = server.cpu_seconds(), server.connections(), octets()
        run = run_on(command, self.environment, workload.limit, client_cpus(self.pinned))
        sample = Sample(workload.name, client.name, load=load, server_cpu=server.cpu_seconds() - server_before)
        connections, moved = server.connections(), octets() - octets_before
        if connections is not None:
            sample.connections = connections - connections_before
        sample.start_ms = run.seconds_to_first_output * 1000
        try:
            line = json.loads(run.output)
            sample.requests, sample.bytes, sample.seconds = line["requests"], line["bytes"], line["seconds"]
            sample.cpu = line["cpu_user"] + line["cpu_sys"]
            sample.process_cpu = run.cpu_seconds
            sample.peak_rss_kb = line["peak_rss_kb"]
            sample.failure = self.fault(workload, line, file)
            if not sample.failure and connections is not None:
                sample.failure = self.fault_on_the_wire(workload, sample.connections, moved)
        except (ValueError, KeyError) as error:
            sample.failure = f"no result ({error}); {run.errors[-300:].strip()}"
        if run.status is None:
            sample.failure = f"ended after {workload.limit} s"
        elif run.status != 0 and not sample.failure:
            sample.failure = f"exit status {run.status}"
        if file:
            file.unlink(missing_ok=True)
        return sample

    @staticmethod
    def fault(workload: Workload, line: dict, file: Path | None) -> str:
        expected = (workload.requests, workload.expected_bytes, 0)
        got = (line["requests"], line["bytes"], line["errors"])
        if got != expected:
            return f"requests, bytes, errors: {got}, not {expected}"
        if file and (not file.exists() or file.stat().st_size != workload.body):
            return "the file does not have the body's size"
        return ""

    @staticmethod
    def fault_on_the_wire(workload: Workload, connections: int, moved: int) -> str:
        if connections != workload.connections:
            return f"{connections} connections, not {workload.connections}"
        if moved < workload.moved_bytes:
            return f"{moved} bytes on the wire, less than {workload.moved_bytes}"
        return ""

    def touch_pages(self, size: int) -> None:
        """Memory a virtual machine has never used costs its first user up to a second a GiB."""
        path = self.folder / "touched"
        self.write(path, size)
        path.unlink()

    @staticmethod
    def write(path: Path, size: int) -> None:
        block = memoryview(bytes(4 << 20))
        with open(path, "wb", buffering=0) as file:
            for start in range(0, size, len(block)):
                file.write(block[: size - start])


def octets() -> int:
    """All that the kernel has moved between sockets here: the benchmark has a network of its own."""
    return network_counter("/proc/net/netstat", "IpExt", "InOctets") or 0


def measure(bench: Bench, work: list[tuple[Workload, list[Client]]], repetitions: int, say) -> list[Sample]:
    """Clients are interleaved in each repetition, and each starts with the next one, so that what the machine does
    besides falls on all alike."""
    for workload, clients in work:
        for client in clients:
            warm = bench.run(client, workload.quick())
            if warm.failure:
                say(f"warm-up {workload.name} {client.name}: {warm.failure}")
    samples = []
    for repetition in range(repetitions):
        for workload, clients in work:
            for turn in range(workload.repetition_factor):
                shift = (repetition * workload.repetition_factor + turn) % len(clients)
                for client in clients[shift:] + clients[:shift]:
                    sample = bench.run(client, workload)
                    samples.append(sample)
                    place = f"{repetition + 1}/{repetitions} {workload.name:4} {client.name:13}"
                    say(f"{place} {describe(workload, sample)}")
    return samples


def describe(workload: Workload, sample: Sample) -> str:
    if sample.failure:
        return f"FAILED: {sample.failure}"
    if workload.cold:
        return f"{sample.start_ms:8.2f} ms"
    cpu = sample.cpu / workload.units()
    return f"{cpu:8.3f} CPU s/{workload.unit}, {sample.seconds:.2f} s, server {sample.server_cpu:.2f} CPU s"


def rate(workload: Workload, sample: Sample) -> float:
    """Requests a second, or MB a second for a transfer."""
    if not sample.seconds:
        return 0
    return (workload.moved_bytes / 1e6 if workload.unit == "GiB" else sample.requests) / sample.seconds


def save(path: Path, header: dict, samples: list[Sample]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(header | {"samples": [asdict(sample) for sample in samples]}, indent=1) + "\n")


def load(path: Path) -> tuple[dict, list[Sample]]:
    saved = json.loads(path.read_text())
    return saved, [Sample(**sample) for sample in saved.pop("samples")]


def timestamp() -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
