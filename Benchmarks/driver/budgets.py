"""What can be counted, held against budgets.json: the same program and the same work give the same numbers."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import clients, counting, workloads
from .measure import Bench

# A larger change than this is one of the program.
TOLERANCE = 0.02
# A busy machine adds to a count: a thread that looks at the clock does so more often in a longer run. The lowest count is compared.
ATTEMPTS = 5
# Calls that depend on when threads are scheduled: sleeping, waiting for another thread, waking one.
SCHEDULED = ("clock_nanosleep", "futex", "sched_yield", "write")

COUNTERS = {
    "instructions": ("valgrind", "user instructions"),
    "allocations": ("valgrind", "allocations"),
    "system_calls": ("strace", "system calls"),
}


@dataclass
class Finding:
    what: str
    budget: float
    found: float

    @property
    def ratio(self) -> float:
        return self.found / self.budget

    @property
    def passed(self) -> bool:
        return self.ratio <= 1 + TOLERANCE

    @property
    def row(self) -> str:
        note = ""
        if not self.passed:
            note = f"  more than {TOLERANCE:.0%} above the budget"
        elif self.ratio < 1 - TOLERANCE:
            note = "  lower the budget in Benchmarks/budgets.json"
        mark = "pass" if self.passed else "FAIL"
        return f"{mark}  {self.what:44} {number(self.budget):>11} {number(self.found):>11} {self.ratio:7.3f}{note}"


HEADING = f"      {'what':44} {'budget':>11} {'now':>11} {'ratio':>7}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def names_of_clients(path: Path) -> list[str]:
    return sorted({budget["client"] for budget in json.loads(path.read_text())["counts"]})


def names_of_workloads(path: Path) -> list[str]:
    return sorted({budget["workload"] for budget in json.loads(path.read_text())["counts"]})


def count(figure: str, bench: Bench, client: clients.Client, workload: workloads.Workload, results: Path) -> counting.Count:
    counting.require(COUNTERS[figure][0])
    match figure:
        case "instructions":
            return counting.instructions(bench, client, workload, results)
        case "allocations":
            return counting.allocations(bench, client, workload)
        case _:
            calls = counting.system_calls(bench, client, workload)
            calls.total -= sum(calls.parts.get(name, 0) for name in SCHEDULED)
            return calls


def check_counts(path: Path, bench: Bench, results: Path):
    for budget in json.loads(path.read_text())["counts"]:
        workload, client = workloads.BY_NAME[budget["workload"]], clients.BY_NAME[budget["client"]]
        figure, expected = budget["figure"], budget["expected"]
        found = count(figure, bench, client, workload, results)
        for _ in range(ATTEMPTS - 1):
            if found.total <= expected * (1 + TOLERANCE):
                break
            found = min(found, count(figure, bench, client, workload, results), key=lambda count: count.total)
        yield Finding(f"{workload.name:4} {client.name:10} {COUNTERS[figure][1]} a {found.unit}", expected, found.total)


def check_sizes(path: Path, programs: dict[str, list[str]], folder: Path):
    """Of the program without symbols: what a user of the library ships."""
    for name, expected in json.loads(path.read_text())["sizes"].items():
        copy = folder / f"{name}.small"
        subprocess.run(["strip", "--strip-all", "-o", str(copy), programs[name][0]], check=True)
        yield Finding(f"bytes of the stripped {name}", expected, copy.stat().st_size)
