# SPDX-License-Identifier: Apache-2.0
"""Cases of a study that fails something in turn: every link, switch or NPU, or random pairs of links."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

from harness.errors import ScenarioError
from harness.run.collectives.grids import members_of
from harness.scenario.schema import Fault, JobSettings, Variant
from topologies import Fabric

__all__ = ["Case", "cases_of", "sample_pairs"]


@final
@dataclass(frozen=True, slots=True)
class Case:
    """Targets of one kind, `link`, `switch` or `npu`, that fail together; without targets nothing fails."""

    kind: str = ""
    targets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Names of the targets; empty if nothing fails."""
        return " and ".join(self.targets)

    def faults(self, variant: Variant) -> tuple[Fault, ...]:
        """Return the faults of the case at the times of the variant's faults; the last time may repeat."""
        times = [fault.at_us for fault in variant.faults]
        return tuple(
            Fault.model_validate({"at_us": times[min(number, len(times) - 1)], self.kind: target})
            for number, target in enumerate(self.targets)
        )


def cases_of(kind: str, fabric: Fabric, variant: Variant, seed: int) -> tuple[Case, ...]:
    """Return the cases of `link`, `switch`, `npu` or `pair:N` in the order of the fabric.

    NPUs are those that take part in a job. The seed draws pairs.

    Raises:
        ScenarioError: The fabric has nothing of that kind.
    """
    links = [link.name for link in fabric.links]
    if kind.startswith("pair:"):
        return tuple(Case("link", pair) for pair in sample_pairs(links, int(kind.partition(":")[2]), seed))
    targets = {
        "link": lambda: links,
        "switch": lambda: [node.name for node in fabric.switches],
        "npu": lambda: [name for job in variant.every_job for name in _members(fabric, job)],
    }[kind]()
    if not targets:
        raise ScenarioError(
            f"fabric {fabric.name} has no {kind} that could fail",
            remedy="take a fabric with switches, such as ub-rack-lrs",
        )
    return tuple(Case(kind, (target,)) for target in targets)


def _members(fabric: Fabric, job: JobSettings) -> tuple[str, ...]:
    if job.graph is None:
        return members_of(fabric, job.collective.members)
    return members_of(fabric, job.graph.read(job.name).members)


def sample_pairs(links: Sequence[str], count: int, seed: int) -> list[tuple[str, str]]:
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
