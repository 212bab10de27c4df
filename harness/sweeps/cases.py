# SPDX-License-Identifier: Apache-2.0
"""Cases of a study: targets that fail in turn, such as every link, random pairs of links, random faults."""

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

__all__ = ["KEPT", "Case", "cases_of", "kind_in_words", "sample_pairs"]

KEPT = "beside the variant's faults but the last"
"""Words for a study that keeps faults, behind those of `kind_in_words`."""

# Default number of runs with random faults; share of these faults that take a link down for good.
_RUNS = 100
_DOWN = 0.5


@final
@dataclass(frozen=True, slots=True)
class Case:
    """Targets that fail together in a run; the case without targets is the healthy run.

    `kind` is `link`, `switch`, `npu` or `random`. In a `random` case, `drawn` has the faults, and `targets`
    has their descriptions.
    """

    kind: str = ""
    targets: tuple[str, ...] = ()
    drawn: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        """Names of the targets, joined by `and`; empty for the healthy run."""
        return " and ".join(self.targets)

    def faults(self, variant: Variant, *, keep: bool = False) -> tuple[Fault, ...]:
        """Return the faults of the case.

        The n-th target fails at the time of the variant's n-th fault, further targets at the time of the
        last fault. With `keep`, the variant's faults but the last happen as well, and all targets fail at the
        time of the last fault.
        """
        kept = variant.faults[:-1] if keep else ()
        if self.drawn:
            return (*kept, *self.drawn)
        times = [fault.at_us for fault in variant.faults[len(kept) :]]
        return kept + tuple(
            Fault.model_validate({"at_us": times[min(number, len(times) - 1)], self.kind: target})
            for number, target in enumerate(self.targets)
        )


def cases_of(kind: str, fabric: Fabric, variant: Variant, seed: int) -> tuple[Case, ...]:
    """Return the cases of one entry of `fail_each:`.

    Args:
        kind: `link`, `switch` or `npu` for a case of each; NPUs are the members of jobs. `pair:N` for N
            random pairs of links, `random:NxR@T` for R cases of N random link faults until T microseconds.
        fabric: Fabric of the targets.
        variant: Variant whose members and times of faults are used.
        seed: Seed of the random choices.

    Raises:
        ScenarioError: The fabric has no target of this kind.
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
            f"the fabric {fabric.name} has no {kind} that could fail",
            remedy="use a fabric with switches, such as ub-rack-lrs, or let another kind of target fail",
        )
    return tuple(Case(kind, (target,)) for target in targets)


def kind_in_words(kind: str) -> str:
    """Return an entry of `fail_each:` in words, such as `each link fails in turn`."""
    name, _, numbers = kind.partition(":")
    if name == "pair":
        return f"{numbers} random pairs of links fail"
    if name == "random":
        drawn, _, until_us = numbers.partition("@")
        count = drawn.partition("x")[0]
        faults = "1 random fault" if count == "1" else f"{count} random faults"
        return f"{faults} of links in each run" + (f", until {float(until_us):g} µs" if until_us else "")
    return f"each {name} fails in turn"


def _random_case(links: Sequence[str], latest_us: float, count: int, seed: int, run: int) -> Case:
    """Return case number `run` of random faults, on `count` different links until `latest_us`.

    With a probability of one half, a link goes down for good; otherwise it flaps, loses frames or slows down.
    """
    # Each run has its own generator, so that a longer campaign begins with the runs of a shorter campaign.
    chance = random.Random(f"{seed} {run}")
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
    """Return a fault as text, in the syntax of a scenario file."""
    keys = fault.model_dump(by_alias=True, exclude_none=True)
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def _members(fabric: Fabric, job: JobSettings) -> tuple[str, ...]:
    if job.graph is None:
        return members_of(fabric, job.collective.members)
    return members_of(fabric, job.graph.read(job.name).members)


def sample_pairs(links: Sequence[str], count: int, seed: int) -> list[tuple[str, str]]:
    """Return `count` different random pairs of links, or all pairs if there are fewer, in link order."""
    every = len(links) * (len(links) - 1) // 2
    if count >= every:
        return list(combinations(links, 2))
    chance = random.Random(seed)
    drawn: set[tuple[int, int]] = set()
    while len(drawn) < count:
        first, second = sorted(chance.sample(range(len(links)), 2))
        drawn.add((first, second))
    return [(links[first], links[second]) for first, second in sorted(drawn)]
