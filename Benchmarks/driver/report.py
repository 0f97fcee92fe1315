"""The summary as tables: for people at a terminal, and in Markdown for the documentation."""

import os
import platform
import subprocess
from pathlib import Path

from . import clients
from .counting import Count
from .summary import Figures, Summary, best_peer, memory_per_request, ratio
from .workloads import Workload



def number(value: float | None) -> str:
    """Three digits that mean something."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def machine() -> dict[str, str]:
    model = next(
        (line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")),
        platform.machine(),
    )
    return {
        "processor": f"{model}, {os.cpu_count()} CPUs",
        "kernel": platform.release(),
        "versions": ", ".join(filter(None, map(version, [
            ["swift", "--version"], ["curl", "--version"], ["openssl", "version"], ["go", "version"],
            ["node", "--version"],
        ]))),
    }


def version(command: list[str]) -> str:
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
    line = output.splitlines()[0] if output else ""
    words = [word.lstrip("gov(") for word in line.split()]
    found = next((word for word in words if word[:1].isdigit()), "")
    return f"{command[0]} {found}" if found else ""


def clients_of(summary: Summary) -> list[str]:
    measured = {client for _, client in summary}
    return [name for name in clients.BY_NAME if name in measured]


def console(summary: Summary, workloads: list[Workload]) -> str:
    lines = []
    for workload in workloads:
        peer = best_peer(summary, workload)
        cpu, speed = ("CPU ms", "ms") if workload.cold else (
            f"CPU s/{workload.unit}", workload.rate_unit)
        reference = "/ " + clients.reference(workload)
        lines.append(f"\n{workload.name}: {workload.title}")
        lines.append(f"  {'':13} {cpu:>18} {'lowest–highest':>15} {reference:>15} {'/ best':>7} {speed:>9} "
                     f"{'peak MB':>8} {'KB/request':>10} {'server':>7} {'runs':>5}")
        for client in clients_of(summary):
            figures = summary.get((workload.name, client))
            if figures:
                lines.append(row(summary, workload, client, figures, peer))
    return "\n".join(lines)


def row(summary: Summary, workload: Workload, client: str, figures: Figures, peer: str | None) -> str:
    spread = f"{number(figures.cpu_lowest)}–{number(figures.cpu_highest)}"
    to_reference = number(ratio(summary, workload, client, clients.reference(workload)))
    to_best = number(ratio(summary, workload, client, peer)) if peer else "–"
    memory = memory_per_request(summary, workload, client)
    failed = f" ({figures.failures} failed)" if figures.failures else ""
    return (f"  {client:13} {number(figures.cpu):>18} {spread:>15} {to_reference:>15} {to_best:>7} "
            f"{number(figures.rate):>9} {number(figures.peak_mb):>8} {number(memory):>10} "
            f"{figures.server_share:>6.0%} {figures.runs:>5}{failed}")


def table(heading: list[str], rows: list[list[str]]) -> list[str]:
    bar = "|" + "|".join(["---"] * 2 + ["---:"] * (len(heading) - 2)) + "|"
    return ["| " + " | ".join(cells) + " |" for cells in [heading]] + [bar] + [
        "| " + " | ".join(cells) + " |" for cells in rows]


def matrix(summary: Summary, workloads: list[Workload], second: str, label, cell) -> list[str]:
    """A row for each workload, whose second column is `label` under the heading `second`."""
    names = clients_of(summary)
    rows = []
    for workload in workloads:
        cells = [cell(workload, client, summary.get((workload.name, client))) for client in names]
        rows.append([f"{workload.name}: {workload.title}", label(workload), *cells])
    return table(["workload", second, *names], rows)


def markdown(summary: Summary, workloads: list[Workload], facts: dict) -> str:
    runs = sorted({figures.runs for figures in summary.values()})
    machine = facts["machine"]
    references = list(dict.fromkeys(clients.reference(workload) for workload in workloads))
    parts = [
        f"Measured {facts['date']} on {machine['processor']}, Linux {machine['kernel']}, whose load was "
        f"{facts['load']:.1f}; {machine['versions']}. Medians of {' or '.join(map(str, runs))} runs.",
        "",
        "### Client CPU" + (" (time for w9)" if any(workload.cold for workload in workloads) else ""),
        "",
        *matrix(
            summary, workloads, "unit",
            lambda workload: "ms" if workload.cold else f"s/{workload.unit}",
            lambda workload, client, figures: number(figures and figures.steering(workload))),
        "",
        "### Ratio of it to " + ", over HTTP/3 to ".join(references),
        "",
        *matrix(
            summary, workloads, "best peer", lambda workload: best_peer(summary, workload) or "–",
            lambda workload, client, figures: number(
                ratio(summary, workload, client, clients.reference(workload)))),
        "",
        "### Rate",
        "",
        *matrix(
            summary, [workload for workload in workloads if not workload.cold], "unit",
            lambda workload: workload.rate_unit,
            lambda workload, client, figures: number(figures and figures.rate)),
        "",
        "### Peak memory",
        "",
        *matrix(
            summary, workloads, "unit", lambda workload: "MB",
            lambda workload, client, figures: number(figures and figures.peak_mb)),
        "",
        "### The server's share of its CPU",
        "",
        *matrix(
            summary, [workload for workload in workloads if not workload.cold], "unit", lambda workload: "%",
            lambda workload, client, figures: f"{figures.server_share:.0%}"[:-1] if figures else "–"),
    ]
    return "\n".join(parts)


def counts_markdown(counts: dict[str, list[Count]], date: str) -> str:
    parts = [f"Counted {date}."]
    for title, listed in counts.items():
        if listed:
            rows = [[count.workload, count.unit, count.client, number(count.total), calls(count)] for count in listed]
            parts += ["", f"### {title}", "", *table(["workload", "for each", "client", "number", "which"], rows)]
    return "\n".join(parts)


def calls(count: Count) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in count.parts.items() if value >= 0.05)


def replace_section(path: Path, section: str, text: str) -> None:
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    page = path.read_text()
    if begin not in page or end not in page:
        raise ValueError(f"{path} has no section between {begin} and {end}")
    before, rest = page.split(begin, 1)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end, 1)[1]}")
