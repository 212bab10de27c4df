# SPDX-License-Identifier: Apache-2.0
"""Cases of a study that fails something in turn: every link, switch or NPU, random pairs, random faults."""

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

# Runs of random faults unless a number is given, and the share of these faults that take a link down.
_RUNS = 100
_DOWN = 0.5


@final
@dataclass(frozen=True, slots=True)
class Case:
    """Targets of one kind, `link`, `switch` or `npu`, that fail together; without targets nothing fails.

    Of the kind `random` the faults are `drawn`, and the targets are these faults in words.
    """

    kind: str = ""
    targets: tuple[str, ...] = ()
    drawn: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        """Names of the targets; empty if nothing fails."""
        return " and ".join(self.targets)

    def faults(self, variant: Variant) -> tuple[Fault, ...]:
        """Return the faults of the case at the times of the variant's faults; the last time may repeat."""
        if self.drawn:
            return self.drawn
        times = [fault.at_us for fault in variant.faults]
        return tuple(
            Fault.model_validate({"at_us": times[min(number, len(times) - 1)], self.kind: target})
            for number, target in enumerate(self.targets)
        )


def cases_of(kind: str, fabric: Fabric, variant: Variant, seed: int) -> tuple[Case, ...]:
    """Return the cases of `link`, `switch` or `npu` in the fabric's order, of `pair:N` or `random:NxR@T`.

    NPUs are those that take part in a job. The seed draws pairs and random faults.

    Raises:
        ScenarioError: The fabric has nothing of that kind.
    """
    links = [link.name for link in fabric.links]
    if kind.startswith("pair:"):
        return tuple(Case("link", pair) for pair in sample_pairs(links, int(kind.partition(":")[2]), seed))
    if kind.startswith("random:"):
        numbers, _, until_us = kind.removeprefix("random:").partition("@")
        count, _, runs = numbers.partition("x")
        latest_us = float(until_us) if until_us else max(fault.at_us for fault in variant.faults)
        return tuple(
            _random_case(links, latest_us, int(count), seed, run) for run in range(int(runs or _RUNS))
        )
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


def _random_case(links: Sequence[str], latest_us: float, count: int, seed: int, run: int) -> Case:
    """Return the run-th case of random faults: of different links, until `latest_us`.

    Half of the links go down for good; others flap, lose frames, or slow down.
    """
    chance = random.Random(f"{seed} {run}")  # a longer campaign begins with the runs of a shorter one
    drawn: list[Fault] = []
    for link in chance.sample(links, min(count, len(links))):
        at_us = round(chance.uniform(0.01, 1) * latest_us, 3)
        flap = {"event": "flap", "period_us": max(round(latest_us, 3), 0.002), "count": chance.randint(1, 3)}
        others = (
            flap,
            {"event": "loss", "percent": 100},
            {"event": "rate", "percent": chance.randint(5, 50)},
        )
        event = {"event": "down"} if chance.random() < _DOWN else chance.choice(others)
        drawn.append(Fault.model_validate({"at_us": max(at_us, 0.001), "link": link, **event}))
    drawn.sort(key=lambda fault: fault.at_us)
    return Case("random", tuple(map(_words, drawn)), tuple(drawn))


def _words(fault: Fault) -> str:
    """Return a randomly drawn fault in the syntax of a scenario file."""
    keys = fault.model_dump(by_alias=True, exclude_none=True)
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


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
