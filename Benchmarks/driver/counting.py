"""Instructions, allocations and system calls a request or a MiB: figures without noise.

Each is the difference of two runs of different size, so what a process costs once falls away.
"""

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from .clients import Client
from .measure import Bench
from .processes import client_cpus, run_on
from .workloads import MIB, Workload

SECONDS_A_RUN = 600
# Swift's hash tables have another seed in each process, and so other collisions.
SAME_HASHES = {"SWIFT_DETERMINISTIC_HASHING": "1"}
# Requests, or MiB for a transfer: enough for the rare costs (growing buffers, timers) to average out.
SMALLER, LARGER = 500, 2000
SMALLER_MIB, LARGER_MIB = 32, 128
# To fill a cache costs as much as thousands of requests, and not the same each time.
LARGER_AFTER_FILLING = 12_000


class CountingFailure(Exception):
    pass


@dataclass
class Count:
    workload: str
    client: str
    unit: str
    total: float
    parts: dict[str, float]


def sizes(workload: Workload) -> tuple[Workload, Workload, int, str]:
    if workload.unit == "GiB" and not workload.messages:
        small, large = workload.with_size(SMALLER_MIB * MIB), workload.with_size(LARGER_MIB * MIB)
        return small, large, LARGER_MIB - SMALLER_MIB, "MiB"
    # The same connections in both, or their opening would be counted as requests.
    larger = LARGER_AFTER_FILLING if "--cached" in workload.session else LARGER
    small, large = replace(workload, requests=SMALLER), replace(workload, requests=larger)
    return small, large, larger - SMALLER, "message" if workload.messages else "request"


def counted_run(
    bench: Bench, client: Client, workload: Workload, tool: list[str], without_debug_info: bool = False
) -> str:
    command, file = bench.command(client, workload)
    if without_debug_info:
        command = [stripped(command[0], bench.folder)] + command[1:]
    run = run_on(tool + command, bench.environment | SAME_HASHES, SECONDS_A_RUN, client_cpus())
    if file:
        file.unlink(missing_ok=True)
    if run.status != 0:
        raise CountingFailure(f"{client.name} {workload.name}: exit status {run.status}; {run.errors[:300]}")
    return run.errors


def stripped(program: str, folder: Path) -> str:
    """A copy without debug information: valgrind gives up on what it cannot read of that. Scripts stay as they are."""
    copy = folder / (Path(program).name + ".stripped")
    done = subprocess.run(["strip", "--strip-debug", "-o", str(copy), program], capture_output=True)
    return str(copy) if done.returncode == 0 else program


def instructions(bench: Bench, client: Client, workload: Workload, keep: Path) -> Count:
    """User-space instructions by callgrind. The profile of the larger run stays in `keep`."""
    small, large, units, unit = sizes(workload)
    profile = keep / f"callgrind.{workload.name}.{client.name}"
    totals = []
    for size in (small, large):
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        found = re.search(r"Collected : (\d+)", counted_run(bench, client, size, tool, without_debug_info=True))
        if not found:
            raise CountingFailure(f"{client.name} {workload.name}: callgrind gave no total")
        totals.append(int(found[1]))
    return Count(workload.name, client.name, unit, (totals[1] - totals[0]) / units, {})


def allocations(bench: Bench, client: Client, workload: Workload) -> Count:
    """Calls of malloc and its like, by memcheck."""
    small, large, units, unit = sizes(workload)
    totals = []
    for size in (small, large):
        tool = ["valgrind", "--tool=memcheck", "--undef-value-errors=no", "--leak-check=no"]
        found = re.search(r"total heap usage: ([\d,]+) allocs", counted_run(bench, client, size, tool, without_debug_info=True))
        if not found:
            raise CountingFailure(f"{client.name} {workload.name}: memcheck gave no total")
        totals.append(int(found[1].replace(",", "")))
    return Count(workload.name, client.name, unit, (totals[1] - totals[0]) / units, {})


def parse_calls(text: str) -> Counter:
    """`strace -c`: the fourth column is the number of calls, the last the name."""
    calls: Counter = Counter()
    for line in text.splitlines():
        columns = line.split()
        if len(columns) >= 5 and columns[3].isdigit() and columns[-1] != "total":
            calls[columns[-1]] += int(columns[3])
    return calls


def system_calls(bench: Bench, client: Client, workload: Workload) -> Count:
    small, large, units, unit = sizes(workload)
    counts = []
    for size in (small, large):
        listing = bench.folder / "strace"
        counted_run(bench, client, size, ["strace", "-f", "-c", "-o", str(listing)])
        counts.append(parse_calls(listing.read_text()))
        listing.unlink()
    parts = {name: (counts[1][name] - counts[0][name]) / units for name in counts[1]}
    parts = dict(sorted(parts.items(), key=lambda part: -part[1]))
    return Count(workload.name, client.name, unit, sum(parts.values()), parts)


def describe(count: Count) -> str:
    parts = ", ".join(f"{name} {value:.1f}" for name, value in count.parts.items() if value >= 0.05)
    amount = f"{count.total:,.1f}" if count.parts else f"{count.total:,.0f} instructions"
    return f"{count.workload:4} {count.client:13} {amount} a {count.unit}  {parts}"


def require(tool: str) -> None:
    if not shutil.which(tool):
        raise CountingFailure(f"{tool} is not installed")
