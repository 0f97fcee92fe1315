"""The servers' processes, and what they cost."""

import json
import os
import select
import shutil
import socket
import subprocess
import time
from pathlib import Path

from . import trust
from .processes import SERVER_CPU, cpus
from .workloads import SMALL, Workload

SECONDS_TO_START = 10


class Server:
    """A server's process on its own CPU."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None, **streams):
        self.process = subprocess.Popen(
            command,
            env=os.environ | (environment or {}),
            preexec_fn=lambda: os.sched_setaffinity(0, cpus(SERVER_CPU)),
            **streams,
        )

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connections(self) -> int | None:
        """How many it has taken so far; None when it does not report it."""
        return None

    def close(self) -> None:
        if not self.process.stdin:
            self.process.terminate()
        else:
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


class OwnServer(Server):
    """This repository's, of HTTP/1.1. It makes the identity that all have."""

    def __init__(self, program: list[str], tls_directory: Path):
        super().__init__([*program, str(tls_directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS_TO_START)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.close()
            raise RuntimeError("the server did not start")
        self.ports = json.loads(line)
        self.turn = 0

    def url(self, workload: Workload) -> str:
        """The next listener each time: ports in TIME_WAIT behind one do not burden the next run."""
        ports = self.ports["https" if workload.tls else "http"]
        scheme = ("ws" if workload.messages else "http") + ("s" if workload.tls else "")
        self.turn += 1
        return f"{scheme}://127.0.0.1:{ports[self.turn % len(ports)]}{workload.path}"


class FileServer(Server):
    """One that has its responses in a folder."""

    def __init__(self, folder: Path, port: int, command: list[str], environment: dict[str, str]):
        self.port = port
        self.root = folder / "htdocs"
        (self.root / "bytes").mkdir(parents=True, exist_ok=True)
        (self.root / "small").write_bytes(bytes(SMALL))
        with open(folder / f"{command[0]}.log", "wb") as log:
            super().__init__(command, environment, stdout=log, stderr=log)
        self.wait_until_it_listens()

    def wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError(f"{self.process.args[0]} did not start")
            time.sleep(0.02)

    def listens(self) -> bool:
        raise NotImplementedError

    def url(self, workload: Workload) -> str:
        file = self.root / workload.path[1:]
        if not file.exists():
            with open(file, "wb") as body:
                # Zeros that take no memory.
                body.truncate(workload.body)
        return f"https://127.0.0.1:{self.port}{workload.path}"


class HTTP2Server(FileServer):
    """nghttpd: one thread, files by `pread`, windows that are never the limit."""

    program = "nghttpd"

    def __init__(self, folder: Path):
        # It has no option for the cipher.
        settings = folder / "nghttpd.cnf"
        settings.write_text(
            "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = default\n"
            "[default]\nMinProtocol = TLSv1.3\nCiphersuites = TLS_AES_128_GCM_SHA256\n"
        )
        port = free_port(socket.SOCK_STREAM)
        command = [
            self.program, "--address=127.0.0.1", f"--htdocs={folder / 'htdocs'}", "--max-concurrent-streams=100",
            "--window-bits=24", "--connection-window-bits=24", str(port), str(folder / "host.key"),
            str(folder / "host.pem"),
        ]
        super().__init__(folder, port, command, {"OPENSSL_CONF": str(settings)})

    def listens(self) -> bool:
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", self.port)) == 0

    def connections(self) -> int | None:
        return network_counter("/proc/net/snmp", "Tcp", "PassiveOpens") if trust.is_isolated() else None


class HTTP3Server(FileServer):
    """gtlsserver: one thread, datagrams in batches, generated bodies; the windows that its client has by default."""

    program = "gtlsserver"

    def __init__(self, folder: Path):
        self.secrets = folder / "gtlsserver.secrets"
        port = free_port(socket.SOCK_DGRAM)
        command = [
            self.program, "--quiet", f"--htdocs={folder / 'htdocs'}", "--max-dyn-length=4G",
            "--ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM", "--max-streams-bidi=100",
            "--max-data=15M", "--max-stream-data-bidi-remote=6M", "--max-window=24M", "--max-stream-window=16M",
            "127.0.0.1", str(port), str(folder / "host.key"), str(folder / "host.pem"),
        ]
        super().__init__(folder, port, command, {"SSLKEYLOGFILE": str(self.secrets)})

    def listens(self) -> bool:
        lines = Path("/proc/net/udp").read_text().splitlines()[1:]
        return any(int(line.split()[1].split(":")[1], 16) == self.port for line in lines)

    def url(self, workload: Workload) -> str:
        if workload.path == "/small":
            return super().url(workload)
        # A path that is a number asks for as many bytes.
        return f"https://127.0.0.1:{self.port}/{workload.body}"

    def connections(self) -> int | None:
        """Each handshake leaves its secrets."""
        if not self.secrets.exists():
            return 0
        return sum(line.startswith("CLIENT_TRAFFIC_SECRET_0 ") for line in self.secrets.read_text().splitlines())


def free_port(kind: int) -> int:
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def network_counter(path: str, group: str, name: str) -> int | None:
    """From the pairs of lines in which the kernel writes names and values."""
    lines = [line.split() for line in Path(path).read_text().splitlines() if line.startswith(f"{group}:")]
    values = dict(zip(*lines)) if len(lines) == 2 else {}
    return int(values[name]) if name in values else None


def start_servers(program: list[str], folder: Path, versions: set[int], say) -> dict[int, Server]:
    """By the version of HTTP that each supports; one that is not installed is missing."""
    servers: dict[int, Server] = {1: OwnServer(program, folder)}
    for version, kind in {2: HTTP2Server, 3: HTTP3Server}.items():
        if version in versions and shutil.which(kind.program):
            servers[version] = kind(folder)
        elif version in versions:
            say(f"without HTTP/{version}: {kind.program} is not installed")
    return servers
