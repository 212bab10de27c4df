# SPDX-License-Identifier: Apache-2.0
"""Sweep over links: one run for each case, whose failed links replace the scenario's faults."""

from __future__ import annotations

import json
import random
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import final

from lab.run.prepare import Prepared, prepare
from lab.scenario.loader import load
from lab.scenario.schema import Fault, Scenario
from lab.sweeps.parallel import in_processes, only, prepared_from, with_faults
from topologies import RailyardError

__all__ = ["Case", "Cut", "Sweep", "cuts", "plan_sweep", "sample_pairs", "to_json"]

Case = tuple[str, ...]
"""Links that fail together; the empty case is the healthy run for comparison."""


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """Result of a run in which `links` failed; `trouble` says what went wrong, empty if nothing did."""

    variant: str
    links: Case
    right: bool
    completion_us: float
    convergence_us: float
    nodes_notified: int
    notices: int
    entries_rewritten: int
    lost_frames: int
    retransmitted_frames: int
    trouble: str

    @property
    def name(self) -> str:
        """Names of the failed links."""
        return " and ".join(self.links) or "no link"


@final
@dataclass(frozen=True, slots=True)
class Sweep:
    """Plan of a sweep: each case for each variant."""

    path: Path
    variants: tuple[str, ...]
    seed: int
    cases: tuple[Case, ...]

    @property
    def runs(self) -> tuple[tuple[str, Case], ...]:
        """Variant and case of each run, the healthy run of each variant first."""
        return tuple((variant, case) for variant in self.variants for case in ((), *self.cases))


def plan_sweep(
    path: Path,
    variants: Sequence[str],
    seed: int | None,
    *,
    each_link: bool = True,
    pairs: int = 0,
) -> tuple[Scenario, Sweep]:
    """Plan a sweep and check it before the first run.

    Args:
        path: Scenario file.
        variants: Names of variants; none means all variants with a fault.
        seed: Seed of the runs and of the choice of pairs; None takes the scenario's.
        each_link: Whether each link of the fabric is a case.
        pairs: Number of random pairs of links that are cases.

    Raises:
        ScenarioError: A variant has no fault that the sweep could replace.
    """
    scenario, document = load(path)
    chosen = with_faults(scenario, document, variants)
    ready = prepare(only(scenario, chosen), document)
    links = [link.name for link in ready[0].fabric.links]
    seed = scenario.seed if seed is None else seed
    cases: list[Case] = [(link,) for link in links] if each_link else []
    cases += sample_pairs(links, pairs, seed)
    return scenario, Sweep(path, tuple(variant.name for variant in chosen), seed, tuple(cases))


def sample_pairs(links: Sequence[str], count: int, seed: int) -> list[Case]:
    """Return `count` different pairs of links, or all pairs if there are fewer, in the order of the links."""
    every = len(links) * (len(links) - 1) // 2
    if count >= every:
        return list(combinations(links, 2))
    chance = random.Random(seed)
    drawn: set[tuple[int, int]] = set()
    while len(drawn) < count:
        first, second = sorted(chance.sample(range(len(links)), 2))
        drawn.add((first, second))
    return [(links[first], links[second]) for first, second in sorted(drawn)]


def cuts(sweep: Sweep, jobs: int) -> Generator[Cut, None, None]:
    """Yield the results in order, from parallel processes; closing early waits for running processes."""
    return in_processes(_cut, sweep.runs, jobs, _enter, sweep)


def to_json(scenario: Scenario, sweep: Sweep, testbed: str, results: Sequence[Cut]) -> str:
    """Return the text of sweep.json."""
    cut = [run for run in results if run.links]
    document = {
        "scenario": scenario.name,
        "variants": list(sweep.variants),
        "seed": sweep.seed,
        "testbed": testbed,
        "passed": all(run.right for run in results),
        "metrics": {"correct_runs": sum(run.right for run in cut), "runs": len(cut)},
        "healthy": {run.variant: asdict(run) for run in results if not run.links},
        "cuts": [asdict(run) for run in cut],
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


# State of a worker process, set once and used for every run.
_ready: dict[str, Prepared] = {}
_seed = 0


def _enter(sweep: Sweep) -> None:
    global _seed
    _ready.update(prepared_from(sweep.path, sweep.variants))
    _seed = sweep.seed


def _cut(run: tuple[str, Case]) -> Cut:
    from lab.report.metrics import METRICS, VariantRun
    from lab.run.runner import observe

    variant, links = run
    planned = _ready[variant]
    times = [fault.at_us for fault in planned.variant.faults]
    faults = (Fault(at_us=times[min(at, len(times) - 1)], link=link) for at, link in enumerate(links))
    ready = planned.with_faults(tuple(faults))
    try:
        seen = observe(ready, _seed)
    except RailyardError as ex:
        return Cut(variant, links, False, 0.0, 0.0, 0, 0, 0, 0, 0, str(ex))
    measured = VariantRun(seen, ready.bound_ps, {})
    inside = not links or 0 < seen.faults[0].at_ps < seen.completion_ps
    return Cut(
        variant=variant,
        links=links,
        right=seen.correct_nodes == seen.nodes and inside,
        completion_us=METRICS["completion_us"].of(measured),
        convergence_us=METRICS["convergence_us"].of(measured),
        nodes_notified=seen.recovery.nodes_notified,
        notices=seen.recovery.notices,
        entries_rewritten=seen.recovery.entries_rewritten,
        lost_frames=seen.traffic.lost_with_link,
        retransmitted_frames=seen.traffic.retransmitted,
        trouble=seen.first_wrong or ("" if inside else "the run ended before the cut"),
    )
