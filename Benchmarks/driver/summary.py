"""Medians of the samples, ratios between clients, and the budgets held against them."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from .clients import NOT_PEERS
from .measure import Sample, rate
from .workloads import BY_NAME, Workload


@dataclass
class Figures:
    runs: int
    failures: int
    # Client CPU for each unit: seconds, or milliseconds of the whole process for a cold start.
    cpu: float
    cpu_lowest: float
    cpu_highest: float
    # Requests or MB a second; milliseconds for a cold start.
    rate: float
    seconds: float
    peak_mb: float
    peak_kb: float
    server_share: float

    def steering(self, workload: Workload) -> float:
        """What ratios are made of: client CPU, or time for a cold start."""
        return self.rate if workload.cold else self.cpu


Summary = dict[tuple[str, str], Figures]


def summarise(samples: list[Sample], workloads: dict[str, Workload]) -> Summary:
    summary: Summary = {}
    for key in dict.fromkeys((sample.workload, sample.client) for sample in samples):
        workload = workloads[key[0]]
        every = [sample for sample in samples if (sample.workload, sample.client) == key]
        good = [sample for sample in every if not sample.failure]
        if not good:
            continue
        if workload.cold:
            cpu = [sample.process_cpu * 1000 for sample in good]
        else:
            cpu = [sample.cpu / workload.units() for sample in good]
        peak = median(sample.peak_rss_kb for sample in good)
        summary[key] = Figures(
            runs=len(good),
            failures=len(every) - len(good),
            cpu=median(cpu),
            cpu_lowest=min(cpu),
            cpu_highest=max(cpu),
            rate=median(sample.start_ms if workload.cold else rate(workload, sample) for sample in good),
            seconds=median(sample.seconds for sample in good),
            peak_mb=peak * 1024 / 1e6,
            peak_kb=peak,
            server_share=median(sample.server_cpu / sample.seconds if sample.seconds else 0 for sample in good),
        )
    return summary


def ratio(summary: Summary, workload: Workload, client: str, other: str) -> float | None:
    mine, theirs = summary.get((workload.name, client)), summary.get((workload.name, other))
    if not mine or not theirs or not theirs.steering(workload):
        return None
    return mine.steering(workload) / theirs.steering(workload)


def best_peer(summary: Summary, workload: Workload) -> str | None:
    peers = {
        client: figures.steering(workload)
        for (name, client), figures in summary.items()
        if name == workload.name and client not in NOT_PEERS
    }
    return min(peers, key=peers.get) if peers else None


def memory_per_request(summary: Summary, workload: Workload, client: str) -> float | None:
    """KB of resident memory each request at once costs, over a process that has made one."""
    many, one = summary.get((workload.name, client)), summary.get(("w9", client))
    if not many or not one or workload.concurrency < 1000:
        return None
    return (many.peak_kb - one.peak_kb) * 1.024 / workload.concurrency


@dataclass
class Verdict:
    passed: bool | None
    text: str


def check(path: Path, summary: Summary, workloads: dict[str, Workload], subject: str) -> list[Verdict]:
    """Each budget of the file against `subject`; `passed` is None where it was not measured."""
    verdicts = []
    for name, budgets in json.loads(path.read_text())["ratios"].items():
        workload = workloads.get(name, BY_NAME.get(name))
        for budget in budgets if workload and name in workloads else []:
            value, allowed, text = judge(budget, summary, workload, subject)
            shown = "not measured" if value is None else f"{value:.2f}"
            passed = None if value is None else value <= allowed
            verdicts.append(Verdict(passed, f"{name:4} {subject:13} {text}: {shown} (allowed {allowed:g})"))
    return verdicts


def judge(budget: dict, summary: Summary, workload: Workload, subject: str) -> tuple[float | None, float, str]:
    figures = summary.get((workload.name, subject))
    match budget["figure"]:
        case "cpu":
            against = budget["against"]
            return ratio(summary, workload, subject, against), budget["ratio"], f"CPU, ratio to {against}"
        case "rate":
            other = summary.get((budget["workload"], subject))
            value = other.rate / figures.rate if figures and other else None
            return value, budget["ratio"], f"rate of {budget['workload']}, ratio to this one's"
        case "start_ms":
            return figures.rate if figures else None, budget["at_most"], "ms to the first response"
        case "kb_per_request":
            return memory_per_request(summary, workload, subject), budget["at_most"], "KB of memory a request"
        case other:
            raise ValueError(f"unknown figure in the budgets: {other}")
