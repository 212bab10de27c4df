# SPDX-License-Identifier: Apache-2.0
"""Figures and assertions of a whole scenario, and their file form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from emulation.control.rewiring_record import RewiringRecord
from emulation.control.takeover import TakeoverRecord
from emulation.fidelity import Fidelity
from lab.report.metrics import ALL_METRICS, Subject, measure
from lab.run.observation import Deadlock
from lab.scenario.schema import Assertion, Relative, Scenario, Variant

__all__ = ["Outcome", "Result", "conclude", "to_json"]

Figure = int | float

RELATIONS = {"max": "at most", "min": "at least", "equals": "exactly"}


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """One assertion and what became of it.

    Not `judged`: it is about times that cannot be believed, and decides nothing, whatever `passed` says.
    """

    name: str
    passed: bool
    value: Figure
    limit: Figure
    judged: bool = True

    @property
    def verdict(self) -> str:
        """`holds`, `fails` or `not judged`."""
        if not self.judged:
            return "not judged"
        return "holds" if self.passed else "fails"


@final
@dataclass(frozen=True, slots=True)
class Result:
    """In virtual time the same scenario and seed give an equal value: nothing in it is read off a clock.

    Of a run in real time there are also `switch`, the kind of its switches, and `fidelity`, by variant;
    `deadlocks` are those of the variants that came to one, `takeovers` what spare NPUs did, and `cut_off`
    says what was out of reach at the end, each of the variants in which it came to that; `rewired` are
    changes of circuits.
    """

    scenario: str
    seed: int
    testbed: str
    passed: bool
    assertions: tuple[Outcome, ...]
    metrics: Mapping[str, Figure]
    switch: str = ""
    fidelity: Mapping[str, Fidelity] = field(default_factory=dict)
    deadlocks: Mapping[str, Deadlock] = field(default_factory=dict)
    takeovers: Mapping[str, tuple[TakeoverRecord, ...]] = field(default_factory=dict)
    cut_off: Mapping[str, str] = field(default_factory=dict)
    rewired: Mapping[str, tuple[RewiringRecord, ...]] = field(default_factory=dict)

    def of(self, variant: str, metric: str) -> Figure:
        return self.metrics[f"{variant}.{metric}"]

    @property
    def held(self) -> int:
        """How many assertions hold, of those that were judged."""
        return sum(outcome.judged and outcome.passed for outcome in self.assertions)

    @property
    def unjudged(self) -> int:
        """How many assertions are about times that cannot be believed."""
        return sum(not outcome.judged for outcome in self.assertions)


def conclude(
    scenario: Scenario, seed: int, testbed: str, subjects: Mapping[str, Subject], *, switch: str = ""
) -> Result:
    """What the runs of all variants amount to; `switch` is empty where there was no choice of switches."""
    metrics = {
        f"{variant}.{name}": figure
        for variant, subject in subjects.items()
        for name, figure in measure(subject).items()
    }
    outcomes = [
        outcome
        for variant, subject in subjects.items()
        for outcome in _always(scenario.variant(variant), subject)
    ]
    outcomes += [_outcome(assertion, metrics, subjects) for assertion in scenario.assertions]
    return Result(
        scenario=scenario.name,
        seed=seed,
        testbed=testbed,
        passed=all(outcome.passed for outcome in outcomes if outcome.judged),
        assertions=tuple(outcomes),
        metrics=metrics,
        switch=switch,
        fidelity={name: subject.fidelity for name, subject in subjects.items() if subject.fidelity},
        deadlocks={name: one.seen.deadlock for name, one in subjects.items() if one.seen.deadlock},
        takeovers={name: one.seen.takeovers for name, one in subjects.items() if one.seen.takeovers},
        cut_off={name: one.seen.cut_off for name, one in subjects.items() if one.seen.cut_off},
        rewired={name: one.seen.rewired for name, one in subjects.items() if one.seen.rewired},
    )


def to_json(result: Result) -> str:
    """The file's text. What only a real-time run has is left out of any other's."""
    document: dict[str, Any] = {
        "scenario": result.scenario,
        "seed": result.seed,
        "testbed": result.testbed,
        "passed": result.passed,
        "assertions": [asdict(outcome) for outcome in result.assertions],
        "metrics": dict(result.metrics),
    }
    if result.switch:
        document["switch"] = result.switch
    if result.deadlocks:
        document["deadlocks"] = {
            name: {"at_us": one.at_ps / 10**6, "cycle": one.cycle} for name, one in result.deadlocks.items()
        }
    if result.takeovers:
        document["takeovers"] = {
            name: [one.document() for one in all] for name, all in result.takeovers.items()
        }
    if result.cut_off:
        document["cut_off"] = dict(result.cut_off)
    if result.rewired:
        document["rewired"] = {name: [one.document() for one in all] for name, all in result.rewired.items()}
    if result.fidelity:
        document["fidelity"] = {name: fidelity.document() for name, fidelity in result.fidelity.items()}
    else:
        for outcome in document["assertions"]:
            del outcome["judged"]
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False) + "\n"


def _always(variant: Variant, subject: Subject) -> list[Outcome]:
    """What holds for every run, asked for or not: the data is right, and a fault fell into the run.

    Of one that is to deadlock, that it does.
    """
    seen = subject.seen
    right = seen.right_nodes == seen.nodes
    waiting = len(seen.deadlock.cycle) if seen.deadlock else 0
    if variant.expect == "deadlock":
        outcomes = [Outcome(f"{variant.name}: buffers wait in a circle", waiting > 1, waiting, 2)]
    else:
        outcomes = [
            Outcome(f"{variant.name}: the array of every NPU is right", right, seen.right_nodes, seen.nodes)
        ]
        if seen.deadlock:
            outcomes.append(Outcome(f"{variant.name}: no buffers wait in a circle", False, waiting, 0))
    outcomes += [
        Outcome(
            f"{variant.name}: {fault.text} before the end",
            0 < fault.at_ps < seen.completion_ps,
            fault.at_ps / 10**6,
            seen.completion_ps / 10**6,
        )
        for fault in seen.faults
    ]
    return outcomes


def _outcome(assertion: Assertion, metrics: Mapping[str, Figure], subjects: Mapping[str, Subject]) -> Outcome:
    value = metrics.get(assertion.metric, 0)  # of a spare that was not needed
    limit, origin = _limit(assertion, metrics)
    passed = {"max": value <= limit, "min": value >= limit, "equals": value == limit}[assertion.relation]
    name = assertion.name or f"{assertion.metric} {RELATIONS[assertion.relation]} {origin}"
    compared = [assertion.metric]
    if isinstance(assertion.limit, Relative):
        compared.append(assertion.limit.metric)
    return Outcome(name, passed, value, limit, not any(_doubtful(metric, subjects) for metric in compared))


def _doubtful(figure: str, subjects: Mapping[str, Subject]) -> bool:
    variant, _, metric = figure.partition(".")
    known = ALL_METRICS.get(metric.rpartition(".")[2])
    return (known is None or known.timed) and subjects[variant].doubtful


def _limit(assertion: Assertion, metrics: Mapping[str, Figure]) -> tuple[Figure, str]:
    limit = assertion.limit
    if not isinstance(limit, Relative):
        return limit, f"{limit:g}"
    figure = metrics.get(limit.metric, 0) * limit.times
    return figure, limit.metric if limit.times == 1 else f"{limit.times:g} x {limit.metric}"
