# SPDX-License-Identifier: Apache-2.0
"""Large scenarios of the experiments, run for claims: their figures, processor time and memory."""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from harness.files import EXPERIMENTS
from harness.report.results import Result, conclude
from harness.run.observation.collect import link_of
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load
from papers.claims import Measured, Progress, Values
from topologies import Fabric

__all__ = ["LargeRun", "directions", "figures_of", "large_run", "spread"]


@final
@dataclass(frozen=True, slots=True)
class LargeRun:
    """Results of a large scenario.

    Attributes:
        figures: metrics by VARIANT.METRIC; `failed_assertions`; `seconds`, mean processor time of a variant;
            `boot_seconds`, the longest start of a testbed; `memory_gb`, the peak memory of the process.
        result: metrics and judged assertions.
        fabric: the fabric of the first variant.
        observations: observations of the runs, by variant.
    """

    figures: Values
    result: Result
    fabric: Fabric
    observations: Mapping[str, Observation]


def large_run(note: Progress, scenario: str) -> LargeRun:
    """Run all variants of a scenario, a file below `experiments/`, in this process."""
    began = time.process_time()
    read, document = load(EXPERIMENTS / scenario)
    names = [item.name for item in read.variants]
    ready = prepare(read, document)
    done = run(
        ready,
        read.seed,
        lambda name, stage, share, pace=None: note(
            f"{name}: {stage}", (names.index(name) + share) / len(names)
        ),
    )
    result = conclude(read, read.seed, "embedded", done.runs)
    failed = [outcome for outcome in result.assertions if not outcome.passed]
    words = "; ".join(f"{outcome.name}: {outcome.value}, stated {outcome.limit}" for outcome in failed)
    seconds = (time.process_time() - began) / len(names)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 10**9
    figures: Values = {
        **result.metrics,
        "failed_assertions": Measured(len(failed), detail=words),
        "seconds": Measured(seconds, detail="processor time, planning included"),
        "boot_seconds": max(item["boot"] for item in done.seconds.values()),
        "memory_gb": Measured(peak, detail="peak memory of the process"),
    }
    seen = {name: item.observation for name, item in done.runs.items()}
    return LargeRun(figures, result, ready[0].fabric, seen)


def figures_of(note: Progress, scenario: str, kinds: Sequence[str] = ()) -> Values:
    """Run a scenario and return its figures, and the spread of frames over the nodes of each kind.

    VARIANT.KIND.least and VARIANT.KIND.most are the least and most frames that links delivered to a node, as
    shares of the mean over all nodes of the kind.
    """
    done = large_run(note, scenario)
    figures: dict[str, Measured | float] = {**done.figures}
    for variant, seen in done.observations.items():
        frames = Counter[str]()
        for _, _, destination, count in directions(done.fabric, seen):
            frames[destination] += count
        for kind in kinds:
            figures |= spread(
                f"{variant}.{kind}", [frames[node.name] for node in done.fabric.nodes if node.kind == kind]
            )
    return figures


def directions(fabric: Fabric, seen: Observation) -> Iterator[tuple[str, str, str, int]]:
    """Yield link, source, destination and frames for each direction of each link, circuits included."""
    for name, (there, back) in seen.link_usage.items():
        link = link_of(fabric, name)
        yield name, link.a.node, link.b.node, there.frames
        yield name, link.b.node, link.a.node, back.frames


def spread(name: str, counts: Iterable[int]) -> Values:
    """Return the figures `<name>.least` and `<name>.most`: the extreme counts, divided by the mean count."""
    some = list(counts)
    mean = sum(some) / len(some)
    words = f"{len(some):,} of them, {mean:,.1f} frames each"
    return {
        f"{name}.least": Measured(min(some) / mean, detail=words),
        f"{name}.most": Measured(max(some) / mean, detail=words),
    }
