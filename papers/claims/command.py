# SPDX-License-Identifier: Apache-2.0
"""Runs for checks of experiments: by the command `railyard` in its own process, or here with their cost."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from topologies import Fabric

__all__ = [
    "TRAFFIC",
    "Outcome",
    "Run",
    "check_run",
    "frames_received",
    "metrics_table",
    "railyard",
    "result_of",
    "say",
    "spread",
    "sweep_of",
]

TRAFFIC = ("correct_npus", "completion_us", "sent_frames", "retransmitted_frames", "lost_frames")
"""Metrics of a run with failures: NPUs with the right array, time, and frames sent, sent again and lost."""


class Outcome(Protocol):
    """The members of `railyard.Result` that checks of large runs use."""

    @property
    def fabric(self) -> Fabric:
        """The fabric that ran."""
        ...

    @property
    def passed(self) -> bool:
        """True when all assertions hold."""
        ...

    @property
    def variants(self) -> Sequence[str]:
        """Names of the variants that ran."""
        ...

    def metric(self, variant: str, name: str) -> int | float:
        """Return a figure of a variant."""
        ...

    def links(self, variant: str | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the counters of every direction of a link."""
        ...

    def assertions(self) -> Sequence[Mapping[str, Any]]:
        """Return every assertion with its outcome."""
        ...


R = TypeVar("R", bound="Outcome")
R_co = TypeVar("R_co", covariant=True)


class Run(Protocol[R_co]):
    """`railyard.run`, which a check hands in: this floor does not import it."""

    def __call__(self, scenario: Path, *, variant: Sequence[str] | None) -> R_co:
        """Run the variants named of a scenario, or all."""
        ...


def railyard(*arguments: str | Path) -> int:
    """Carry out the command with these arguments and return its exit code."""
    program = "from railyard.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=False).returncode


def result_of(scenario: Path, *options: str, folder: Path | None = None) -> tuple[int, dict[str, Any]]:
    """Run a scenario.

    Args:
        scenario: file of the scenario.
        options: further options of `railyard run`.
        folder: where the results stay; without it they are removed.

    Returns:
        The exit code and the content of result.json, empty if the command wrote none.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as name:
            return result_of(scenario, *options, folder=Path(name))
    code = railyard("run", scenario, "--out", folder, *options)
    result = folder / "result.json"
    return code, json.loads(result.read_text()) if result.exists() else {}


def sweep_of(scenario: Path, kind: str, variant: str, folder: Path) -> tuple[int, dict[str, Any]]:
    """Run a variant with each thing of a kind failing in turn; the results stay in a folder.

    Args:
        scenario: file of the scenario.
        kind: what fails, as `railyard sweep --cut-each` takes it: npu, switch, link, ...
        variant: name of the variant.
        folder: where the results stay.

    Returns:
        The exit code and the metrics of sweep.json.
    """
    code = railyard("sweep", scenario, "--cut-each", kind, "--variant", variant, "--out", folder)
    return code, json.loads((folder / "sweep.json").read_text())["metrics"]


def metrics_table(metrics: Mapping[str, float], names: Iterable[str], variants: Sequence[str]) -> str:
    """Return metrics of a result by name and variant as a Markdown table, empty where there is none."""
    lines = ["| | " + " | ".join(variants) + " |", "|---|" + "---:|" * len(variants)]
    for name in names:
        cells = (metrics.get(f"{variant}.{name}") for variant in variants)
        lines.append(
            f"| `{name}` | " + " | ".join("" if cell is None else f"{cell:,}" for cell in cells) + " |"
        )
    return "\n".join(lines)


def say(checks: Mapping[str, bool]) -> int:
    """Print what is true and what is not; return the exit code, 1 when something is not true."""
    for text, holds in checks.items():
        print(f"{text}: {'yes' if holds else 'NO'}")
    return 0 if all(checks.values()) else 1


def spread(what: str, counts: Sequence[int]) -> tuple[float, float]:
    """Print how evenly frames are spread; return the least and the largest count as shares of the mean."""
    mean = sum(counts) / len(counts)
    least, most = min(counts) / mean, max(counts) / mean
    print(f"{len(counts)} {what}, {mean:,.1f} frames each, {least:.3f} to {most:.3f} of that")
    return least, most


def frames_received(result: Outcome, variant: str) -> Counter[str]:
    """Return the frames that links brought to each node in a variant."""
    frames = Counter[str]()
    for link in result.links(variant):
        frames[str(link["destination"])] += int(link["frames"] or 0)
    return frames


def check_run(
    run: Run[R],
    scenario: Path,
    shown: Sequence[str],
    facts: Callable[[R], Iterable[tuple[str, bool]]],
    *,
    most_seconds: float,
    most_gb: float,
) -> int:
    """Run the variants that the command line names, or all; print their figures, and what is true.

    Args:
        run: `railyard.run`.
        scenario: file of the scenario.
        shown: metrics to print, a row each.
        facts: statements about the result, beside its assertions, and whether each holds.
        most_seconds: largest processor time of a variant, in seconds.
        most_gb: largest peak of memory, in GB.

    Returns:
        The exit code, 1 when something is not true.
    """
    result = run(scenario, variant=sys.argv[1:] or None)
    seconds = time.process_time()  # of the whole process, imports included
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 10**9
    print(f"{seconds:.0f} s of processor time, {peak_gb:.1f} GB of memory at most")
    for name in shown:
        print(name, *(f"{result.metric(variant, name):,}" for variant in result.variants), sep=" | ")
    for item in result.assertions():
        if item["verdict"] != "holds":
            print(f"{item['verdict']}: {item['assertion']}: {item['value']}, stated: {item['limit']}")
    said = {"all assertions hold": result.passed, **dict(facts(result))}
    said[f"at most {most_seconds:g} s a variant"] = seconds <= most_seconds * len(result.variants)
    said[f"at most {most_gb:g} GB"] = peak_gb <= most_gb
    return say(said)
