# SPDX-License-Identifier: Apache-2.0
"""Large scenarios run in this process: their figures, what is true of them, and what they cost."""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from papers.checking.statements import say
from topologies import Fabric

__all__ = ["Outcome", "Run", "check_run", "frames_received"]


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
            print(f"{item['verdict']}: {item['name']}: {item['value']}, stated: {item['limit']}")
    said = {"all assertions hold": result.passed, **dict(facts(result))}
    said[f"at most {most_seconds:g} s a variant"] = seconds <= most_seconds * len(result.variants)
    said[f"at most {most_gb:g} GB"] = peak_gb <= most_gb
    return say(said)
