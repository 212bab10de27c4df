"""Figures and assertions of a whole scenario, and their file form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import final

from lab.metrics import Subject, measure
from lab.scenario import Assertion, Relative, Scenario

__all__ = ["Outcome", "Result", "conclude", "to_json"]

Figure = int | float

RELATIONS = {"max": "at most", "min": "at least", "equals": "exactly"}


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """One assertion and what became of it."""

    name: str
    passed: bool
    value: Figure
    limit: Figure


@final
@dataclass(frozen=True, slots=True)
class Result:
    """The same scenario and seed give an equal value: nothing in it is read off a clock."""

    scenario: str
    seed: int
    testbed: str
    passed: bool
    assertions: tuple[Outcome, ...]
    metrics: Mapping[str, Figure]

    def of(self, variant: str, metric: str) -> Figure:
        return self.metrics[f"{variant}.{metric}"]


def conclude(scenario: Scenario, seed: int, testbed: str, subjects: Mapping[str, Subject]) -> Result:
    """What the runs of all variants amount to."""
    metrics = {
        f"{variant}.{name}": figure
        for variant, subject in subjects.items()
        for name, figure in measure(subject).items()
    }
    outcomes = [outcome for variant, subject in subjects.items() for outcome in _always(variant, subject)]
    outcomes += [_outcome(assertion, metrics) for assertion in scenario.assertions]
    return Result(
        scenario=scenario.name,
        seed=seed,
        testbed=testbed,
        passed=all(outcome.passed for outcome in outcomes),
        assertions=tuple(outcomes),
        metrics=metrics,
    )


def to_json(result: Result) -> str:
    return json.dumps(asdict(result), indent=2, sort_keys=True, allow_nan=False) + "\n"


def _always(variant: str, subject: Subject) -> list[Outcome]:
    """What holds for every run, asked for or not: the data is right, and a fault fell into the run."""
    seen = subject.seen
    right = seen.right_nodes == seen.nodes
    outcomes = [Outcome(f"{variant}: the array of every NPU is right", right, seen.right_nodes, seen.nodes)]
    outcomes += [
        Outcome(
            f"{variant}: {fault.link} goes {fault.event} before the end",
            0 < fault.at_ps < seen.completion_ps,
            fault.at_ps / 10**6,
            seen.completion_ps / 10**6,
        )
        for fault in seen.faults
    ]
    return outcomes


def _outcome(assertion: Assertion, metrics: Mapping[str, Figure]) -> Outcome:
    value = metrics[assertion.metric]
    limit, origin = _limit(assertion, metrics)
    passed = {"max": value <= limit, "min": value >= limit, "equals": value == limit}[assertion.relation]
    name = assertion.name or f"{assertion.metric} {RELATIONS[assertion.relation]} {origin}"
    return Outcome(name, passed, value, limit)


def _limit(assertion: Assertion, metrics: Mapping[str, Figure]) -> tuple[Figure, str]:
    limit = assertion.limit
    if not isinstance(limit, Relative):
        return limit, f"{limit:g}"
    figure = metrics[limit.metric] * limit.times
    return figure, limit.metric if limit.times == 1 else f"{limit.times:g} x {limit.metric}"
