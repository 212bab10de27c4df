# SPDX-License-Identifier: Apache-2.0
"""Result of a scenario: metrics and judged assertions of all variants, and result.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from emulation.control.rewiring_record import RewiringRecord
from emulation.control.takeover import TakeoverRecord
from emulation.fidelity import Fidelity
from lab.report.metrics import ALL_METRICS, VariantRun, measure
from lab.run.observation import Deadlock
from lab.scenario.schema import Assertion, Relative, Scenario, Variant

__all__ = ["Outcome", "Result", "conclude", "to_json"]

Figure = int | float

RELATIONS = {"max": "at most", "min": "at least", "equals": "exactly"}


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """One assertion with its value and limit.

    An assertion about times that are not trustworthy is not `judged`: its `passed` decides nothing.
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
    """Result of a scenario; in virtual time equal scenarios and seeds give equal results.

    Attributes:
        scenario: Name of the scenario.
        seed: Seed of the data and of all random choices.
        testbed: Name of the testbed.
        passed: Whether all assertions that are judged hold.
        assertions: Outcomes, those that every variant has first.
        metrics: Values by VARIANT.METRIC.
        switch: Kind of switches of a run in real time, else empty.
        fidelity: Judgement of the times of a run in real time, by variant.
        deadlocks: Deadlocks of the variants that ended in one.
        takeovers: Takeovers by spare NPUs, of the variants that had any.
        cut_off: Nodes that were unreachable at the end, in words, of the variants with any.
        rewired: Reconfigurations of circuits, of the variants that had any.
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
        """Return a metric of a variant."""
        return self.metrics[f"{variant}.{metric}"]

    @property
    def held(self) -> int:
        """Number of judged assertions that hold."""
        return sum(outcome.judged and outcome.passed for outcome in self.assertions)

    @property
    def unjudged(self) -> int:
        """Number of assertions about times that are not trustworthy."""
        return sum(not outcome.judged for outcome in self.assertions)


def conclude(
    scenario: Scenario, seed: int, testbed: str, runs: Mapping[str, VariantRun], *, switch: str = ""
) -> Result:
    """Return metrics and judged assertions of all runs; `switch` is empty on the embedded testbed."""
    metrics = {
        f"{variant}.{name}": figure for variant, run in runs.items() for name, figure in measure(run).items()
    }
    outcomes = [
        outcome for variant, run in runs.items() for outcome in _always(scenario.variant(variant), run)
    ]
    outcomes += [_outcome(assertion, metrics, runs) for assertion in scenario.assertions]
    return Result(
        scenario=scenario.name,
        seed=seed,
        testbed=testbed,
        passed=all(outcome.passed for outcome in outcomes if outcome.judged),
        assertions=tuple(outcomes),
        metrics=metrics,
        switch=switch,
        fidelity={name: run.fidelity for name, run in runs.items() if run.fidelity},
        deadlocks={name: run.observation.deadlock for name, run in runs.items() if run.observation.deadlock},
        takeovers={
            name: run.observation.takeovers for name, run in runs.items() if run.observation.takeovers
        },
        cut_off={name: run.observation.cut_off for name, run in runs.items() if run.observation.cut_off},
        rewired={name: run.observation.rewired for name, run in runs.items() if run.observation.rewired},
    )


def to_json(result: Result) -> str:
    """Return the text of result.json; keys of parts that the result does not have are left out."""
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
            name: {"at_us": deadlock.at_ps / 10**6, "cycle": deadlock.cycle}
            for name, deadlock in result.deadlocks.items()
        }
    if result.takeovers:
        document["takeovers"] = {
            name: [takeover.document() for takeover in takeovers]
            for name, takeovers in result.takeovers.items()
        }
    if result.cut_off:
        document["cut_off"] = dict(result.cut_off)
    if result.rewired:
        document["reconfigurations"] = {
            name: [change.document() for change in changes] for name, changes in result.rewired.items()
        }
    if result.fidelity:
        document["fidelity"] = {name: fidelity.document() for name, fidelity in result.fidelity.items()}
    else:
        for outcome in document["assertions"]:
            del outcome["judged"]
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False) + "\n"


def _always(variant: Variant, run: VariantRun) -> list[Outcome]:
    """Return the assertions that every run has: correct data, and each fault within the run.

    A variant that expects a deadlock has to end in one instead of correct data.
    """
    seen = run.observation
    right = seen.correct_nodes == seen.nodes
    waiting = len(seen.deadlock.cycle) if seen.deadlock else 0
    if variant.expect == "deadlock":
        outcomes = [Outcome(f"{variant.name}: buffers wait in a circle", waiting > 1, waiting, 2)]
    else:
        outcomes = [
            Outcome(f"{variant.name}: the array of every NPU is right", right, seen.correct_nodes, seen.nodes)
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


def _outcome(assertion: Assertion, metrics: Mapping[str, Figure], runs: Mapping[str, VariantRun]) -> Outcome:
    value = metrics.get(assertion.metric, 0)  # metrics of spares are 0 where no spare was needed
    limit, origin = _limit(assertion, metrics)
    passed = {"max": value <= limit, "min": value >= limit, "equals": value == limit}[assertion.relation]
    name = assertion.name or f"{assertion.metric} {RELATIONS[assertion.relation]} {origin}"
    compared = [assertion.metric]
    if isinstance(assertion.limit, Relative):
        compared.append(assertion.limit.metric)
    return Outcome(name, passed, value, limit, not any(_doubtful(metric, runs) for metric in compared))


def _doubtful(figure: str, runs: Mapping[str, VariantRun]) -> bool:
    variant, _, metric = figure.partition(".")
    known = ALL_METRICS.get(metric.rpartition(".")[2])
    return (known is None or known.timed) and runs[variant].doubtful


def _limit(assertion: Assertion, metrics: Mapping[str, Figure]) -> tuple[Figure, str]:
    limit = assertion.limit
    if not isinstance(limit, Relative):
        return limit, f"{limit:g}"
    figure = metrics.get(limit.metric, 0) * limit.times
    return figure, limit.metric if limit.times == 1 else f"{limit.times:g} x {limit.metric}"
