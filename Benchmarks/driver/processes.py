"""Runs one program on certain CPUs, for a limited time."""

import os
import select
import signal
import tempfile
import time
from dataclasses import dataclass

SERVER_CPU = 0
CLIENT_CPU = 1


@dataclass
class Run:
    output: str
    errors: str
    # None when the program was ended because its time was up.
    status: int | None
    # From before the program was started.
    seconds_to_first_output: float
    seconds: float
    cpu_seconds: float


def cpus(cpu: int) -> set[int]:
    """`cpu` alone; on a machine that has only one, that one."""
    available = os.sched_getaffinity(0) | {SERVER_CPU}
    return {cpu} if (os.cpu_count() or 1) > cpu else available


def client_cpus(pinned: bool = True) -> set[int]:
    """One CPU that the server does not use, or all."""
    return cpus(CLIENT_CPU) if pinned else set(range(os.cpu_count() or 1))


def end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_on(command: list[str], environment: dict[str, str], limit: float, processors: set[int]) -> Run:
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as errors:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
        ]
        # The child inherits the CPUs it is started on; this process then goes back to the server's.
        os.sched_setaffinity(0, processors)
        start = time.monotonic()
        try:
            pid = os.posix_spawnp(command[0], command, environment, file_actions=actions, setpgroup=0)
        finally:
            os.sched_setaffinity(0, cpus(SERVER_CPU))
            os.close(writer)
        try:
            run = collect(pid, reader, start, limit)
        finally:
            end_group(pid)
            os.close(reader)
        errors.seek(0)
        run.errors = errors.read().decode(errors="replace")
        return run


def collect(pid: int, reader: int, start: float, limit: float) -> Run:
    """Reads until the program has ended, or ends it."""
    chunks, first_output = [], 0.0
    deadline = start + limit
    while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(reader, 65536)
        if not chunk:
            break
        first_output = first_output or time.monotonic() - start
        chunks.append(chunk)
    status: int | None = None
    while True:
        ended, code, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            status = os.waitstatus_to_exitcode(code)
            break
        if time.monotonic() > deadline:
            end_group(pid)
            _, _, usage = os.wait4(pid, 0)
            break
        time.sleep(0.0005)
    output = b"".join(chunks).decode(errors="replace")
    return Run(output, "", status, first_output, time.monotonic() - start, usage.ru_utime + usage.ru_stime)
