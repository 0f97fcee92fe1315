"""The server's process, and what it cost."""

import json
import os
import select
import subprocess
from pathlib import Path

from .processes import SERVER_CPU, cpus
from .workloads import Workload

SECONDS_TO_START = 10


class Server:
    def __init__(self, program: list[str], tls_directory: Path):
        self.process = subprocess.Popen(
            [*program, str(tls_directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus(SERVER_CPU)),
        )
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS_TO_START)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.close()
            raise RuntimeError("the server did not start")
        self.ports = json.loads(line)
        self.turn = 0

    def url(self, workload: Workload) -> str:
        """The next listener each time: ports in TIME_WAIT behind one do not burden the next run."""
        scheme = "https" if workload.tls else "http"
        ports = self.ports[scheme]
        self.turn += 1
        return f"{scheme}://127.0.0.1:{ports[self.turn % len(ports)]}{workload.path}"

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.stdin.close()  # it ends with its standard input
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
