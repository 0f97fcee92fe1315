"""The command line of scripts/bench."""

import argparse
import itertools
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from . import budgets, build, clients, counting, report, trust, workloads
from .measure import Bench, Sample, load, measure, save, timestamp
from .server import start_servers
from .summary import check, summarise

RESULTS = build.ROOT / "results"
BUDGETS = build.ROOT / "budgets.json"
OPEN_FILES = 65_536


def names(known: dict):
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return chosen

    return parse


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Compares HTTP clients on the same work.")
    parser.add_argument("--workloads", type=names(workloads.BY_NAME), help="default: all")
    parser.add_argument("--clients", type=names(clients.BY_NAME), help="default: all that can be built")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="about a tenth of the work, twice")
    parser.add_argument("--no-build", action="store_true", help="use the Swift programs that are there")
    parser.add_argument("--debug", action="store_true", help="build the Swift programs as `swift build` does by default")
    parser.add_argument("--check", nargs="?", const="ours", metavar="CLIENT", help="hold it against budgets.json")
    parser.add_argument("--budgets", action="store_true", help="hold only what can be counted against budgets.json")
    parser.add_argument("--unpinned", action="store_true", help="clients use all CPUs, as programs do, not one")
    parser.add_argument("--callgrind", action="store_true", help="instructions a request or MiB instead of time")
    parser.add_argument("--strace", action="store_true", help="system calls a request or MiB instead of time")
    parser.add_argument("--markdown", type=Path, help="a page whose results are replaced")
    parser.add_argument("--from", dest="saved", type=Path, help="measure nothing, report a file of results again")
    arguments = parser.parse_args()
    pinned = [arguments.markdown, arguments.check, arguments.budgets, arguments.callgrind, arguments.strace]
    if arguments.unpinned and any(pinned):
        parser.error("pages, budgets and counts are of pinned clients")
    if arguments.debug and (arguments.check or arguments.budgets):
        parser.error("budgets are those of release builds")
    if arguments.debug and arguments.markdown and (arguments.callgrind or arguments.strace):
        parser.error("the page's counts are those of release builds")
    if arguments.debug:
        arguments.clients = arguments.clients or list(clients.DEBUG)
        arguments.workloads = arguments.workloads or list(clients.DEBUG_WORKLOADS)
    arguments.workloads = arguments.workloads or list(workloads.BY_NAME)
    if arguments.budgets:
        arguments.clients = budgets.names_of_clients(BUDGETS)
        arguments.workloads = budgets.names_of_workloads(BUDGETS)
    return arguments


def say(text: str) -> None:
    print(text, flush=True)


def raise_open_files() -> None:
    """w8 needs 10,000 sockets in the client and as many in the server."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard, OPEN_FILES), hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            return
        except (ValueError, PermissionError):
            continue


def choose_clients(arguments: argparse.Namespace) -> tuple[list[clients.Client], dict[str, list[str]]]:
    chosen = [clients.BY_NAME[name] for name in arguments.clients] if arguments.clients else clients.ALL
    programs, missing = build.build_clients(
        {client.program for client in chosen}, not arguments.no_build, "debug" if arguments.debug else "release")
    for program, reason in missing.items():
        say(f"without {program}: {reason}")
    if missing and arguments.clients:
        sys.exit(1)
    return [client for client in chosen if client.program in programs], programs


def plan(
    arguments: argparse.Namespace, chosen: list[clients.Client], trusted: bool, versions: set[int]
) -> list[tuple[workloads.Workload, list[clients.Client]]]:
    work = []
    for name in arguments.workloads:
        workload = workloads.BY_NAME[name]
        able = [client for client in chosen if name in client.workloads]
        if workload.tls and not trusted:
            # It knows the machine's authorities only.
            able = [client for client in able if client.program != "url-session-toolchain"]
        if able and workload.version in versions:
            work.append((workload.quick() if arguments.quick else workload, able))
    return work


def count(arguments: argparse.Namespace, bench: Bench, work: list) -> dict[str, list[counting.Count]]:
    counts: dict[str, list[counting.Count]] = {"User instructions": [], "System calls": []}
    for workload, able in work:
        for client in able if not workload.cold else []:
            try:
                if arguments.callgrind and client.countable:
                    counting.require("valgrind")
                    counts["User instructions"].append(counting.instructions(bench, client, workload, RESULTS))
                    say(counting.describe(counts["User instructions"][-1]))
                if arguments.strace:
                    counting.require("strace")
                    counts["System calls"].append(counting.system_calls(bench, client, workload))
                    say(counting.describe(counts["System calls"][-1]))
            except counting.CountingFailure as failure:
                say(f"not counted: {failure}")
    return counts


def run(arguments: argparse.Namespace, folder: Path) -> int:
    chosen, programs = choose_clients(arguments)
    versions = {workloads.BY_NAME[name].version for name in arguments.workloads}
    servers = start_servers(build.build_server(), folder, versions, say)
    try:
        trusted = trust.install(folder / "certs")
        bench = Bench(servers, programs, trust.environment(folder / "certs", trusted), folder, not arguments.unpinned)
        work = plan(arguments, chosen, trusted, set(servers))
        RESULTS.mkdir(exist_ok=True)
        if arguments.budgets:
            return check_budgets(bench, folder)
        if arguments.callgrind or arguments.strace:
            return finish_counts(arguments, count(arguments, bench, work))
        samples = measure(bench, work, 2 if arguments.quick else arguments.repetitions, say)
    finally:
        for server in servers.values():
            server.close()
    facts = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load": median(sample.load for sample in samples) if samples else 0,
        "machine": report.machine(),
        "quick": arguments.quick,
        "debug": arguments.debug,
    }
    path = RESULTS / f"{timestamp()}.json"
    save(path, facts, samples)
    say(f"{path}")
    return finish(arguments, facts, samples)


def check_budgets(bench: Bench, folder: Path) -> int:
    passed = True
    say(budgets.HEADING)
    try:
        sizes = budgets.check_sizes(BUDGETS, bench.programs, folder)
        for finding in itertools.chain(sizes, budgets.check_counts(BUDGETS, bench, RESULTS)):
            say(finding.row)
            passed = passed and finding.passed
    except counting.CountingFailure as failure:
        say(f"FAIL  not counted: {failure}")
        passed = False
    return 0 if passed else 1


def finish_counts(arguments: argparse.Namespace, counts: dict[str, list[counting.Count]]) -> int:
    if arguments.markdown:
        date = time.strftime("%Y-%m-%d", time.gmtime())
        report.replace_section(arguments.markdown, "counts", report.counts_markdown(counts, date))
    return 0


def finish(arguments: argparse.Namespace, facts: dict, samples: list[Sample]) -> int:
    measured = {}
    for name in [name for name in workloads.BY_NAME if any(sample.workload == name for sample in samples)]:
        workload = workloads.BY_NAME[name]
        measured[name] = workload.quick() if facts["quick"] else workload
    summary = summarise(samples, measured)
    say(report.console(summary, list(measured.values())))
    if arguments.markdown:
        # A part of the work replaces its own section alone.
        sections = {"debug": list(measured)} if facts.get("debug") else {
            "results": [
                work.name for work in measured.values() if work.version == 1 and not work.messages and not work.session
            ],
            "defaults": [work.name for work in measured.values() if work.session],
            "multiplexed": [work.name for work in measured.values() if work.version != 1],
            "messages": [work.name for work in measured.values() if work.messages],
        }
        for section, names in sections.items():
            part = {key: figures for key, figures in summary.items() if key[0] in names}
            if part:
                text = report.markdown(part, [measured[name] for name in names], facts)
                report.replace_section(arguments.markdown, section, text)
    passed = not any(sample.failure for sample in samples)
    if arguments.check:
        say("")
        for verdict in check(BUDGETS, summary, measured, arguments.check):
            say(f"{'pass' if verdict.passed else 'MISS'}  {verdict.text}")
            passed = passed and bool(verdict.passed)
    return 0 if passed else 1


def main() -> int:
    arguments = parse_arguments()
    if arguments.saved:
        return finish(arguments, *load(arguments.saved))
    trust.enter_namespace()
    # Asked to end, it still ends its children and removes its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    raise_open_files()
    # Memory, so that a disk is no part of what is measured.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=place) as folder:
        return run(arguments, Path(folder))
