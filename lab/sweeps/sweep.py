# SPDX-License-Identifier: Apache-2.0
"""The same run once for every case of a list: what fails in it takes the place of the scenario's faults."""

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
"""Links that fail together; none: the healthy run that others are held against."""


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """What became of the run of a variant in which `links` failed; `trouble` is empty when all went well."""

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
        return " and ".join(self.links) or "no link"


@final
@dataclass(frozen=True, slots=True)
class Sweep:
    """What is to be run: each case for each of the variants, a healthy run of each first."""

    path: Path
    variants: tuple[str, ...]
    seed: int
    cases: tuple[Case, ...]

    @property
    def runs(self) -> tuple[tuple[str, Case], ...]:
        return tuple((variant, case) for variant in self.variants for case in ((), *self.cases))


def plan_sweep(
    path: Path,
    variants: Sequence[str],
    seed: int | None,
    *,
    each_link: bool = True,
    pairs: int = 0,
) -> tuple[Scenario, Sweep]:
    """Check everything before the first run; ScenarioError when a variant has no fault to put elsewhere.

    No variants: all that have a fault. The cases are each link of the fabric, in its order, and so many
    pairs of links, drawn by the seed.
    """
    scenario, document = load(path)
    chosen = with_faults(scenario, document, variants)
    ready = prepare(only(scenario, chosen), document)
    links = [link.name for link in ready[0].fabric.links]
    seed = scenario.seed if seed is None else seed
    cases: list[Case] = [(link,) for link in links] if each_link else []
    cases += sample_pairs(links, pairs, seed)
    return scenario, Sweep(path, tuple(one.name for one in chosen), seed, tuple(cases))


def sample_pairs(links: Sequence[str], count: int, seed: int) -> list[Case]:
    """So many different pairs of links, or all when there are no more; in the order of the links."""
    every = len(links) * (len(links) - 1) // 2
    if count >= every:
        return list(combinations(links, 2))
    chance = random.Random(seed)
    found: set[tuple[int, int]] = set()
    while len(found) < count:
        first, second = sorted(chance.sample(range(len(links)), 2))
        found.add((first, second))
    return [(links[first], links[second]) for first, second in sorted(found)]


def cuts(sweep: Sweep, jobs: int) -> Generator[Cut, None, None]:
    """The runs, in parallel processes, in their order. Leaving early waits for those under way."""
    return in_processes(_cut, sweep.runs, jobs, _enter, sweep)


def to_json(scenario: Scenario, sweep: Sweep, testbed: str, results: Sequence[Cut]) -> str:
    cut = [one for one in results if one.links]
    document = {
        "scenario": scenario.name,
        "variants": list(sweep.variants),
        "seed": sweep.seed,
        "testbed": testbed,
        "passed": all(one.right for one in results),
        "metrics": {"correct_runs": sum(one.right for one in cut), "runs": len(cut)},
        "healthy": {one.variant: asdict(one) for one in results if not one.links},
        "cuts": [asdict(one) for one in cut],
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


# Of a worker process: made once, used for every run.
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
        trouble=seen.first_wrong or ("" if inside else "the run was over before the cut"),
    )
