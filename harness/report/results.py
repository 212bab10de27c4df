# SPDX-License-Identifier: Apache-2.0
"""Conclude the result of a scenario: metrics and judged assertions of all variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, TypeVar, final

from emulation.control.reconfiguration_record import ReconfigurationRecord
from emulation.control.takeover import TakeoverRecord
from emulation.fidelity import Fidelity
from harness.report.incidents import fault_metrics
from harness.report.measurement.metrics import measure
from harness.report.measurement.own_cells import cell_figures, is_unread
from harness.run.observation.values import CounterCell, Deadlock, Observation, OperationReport, RegisterCell
from harness.run.observation.variant_run import VariantRun
from harness.scenario.digest import digest
from harness.scenario.metrics import ALL_METRICS
from harness.scenario.schema import Assertion, Relative, Scenario, Variant

__all__ = ["Bound", "Op", "Outcome", "Result", "compare_metrics", "conclude"]

Figure = int | float

T = TypeVar("T")

RELATIONS = {"max": "at most", "min": "at least", "equals": "exactly"}

Op = Literal["<=", ">=", "==", "<"]
"""Comparison of an assertion's value with its limit."""

_OPS: Mapping[str, Op] = {"max": "<=", "min": ">=", "equals": "=="}


@final
@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound of the completion time of a job's collective, in us; `bound` says how it is derived."""

    job: str
    bound: str
    us: float


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of an assertion.

    Attributes:
        name: The assertion in words.
        metric: VARIANT.METRIC; for the fault at index N of `Result.faults`, VARIANT.faults[N].METRIC with
            `at_us` or one of FAULT_METRICS as METRIC.
        op: Comparison of `value` with `limit`.
        limit: Limit of the assertion.
        value: Value of the metric; infinite for the time of an event that did not happen, null in JSON.
        passed: Whether the comparison holds.
        judged: False if the metric depends on times that are not trustworthy, or on a register that the
            switches refuse to read; `passed` then does not count.
    """

    name: str
    metric: str
    op: Op
    limit: Figure
    value: Figure
    passed: bool
    judged: bool = True

    @property
    def shown_value(self) -> str:
        """Value as text; `never` for the time of an event that did not happen."""
        return _digits(self.value) if isfinite(self.value) else "never"

    @property
    def shown_limit(self) -> str:
        """Limit as text, with at most ten digits."""
        return _digits(self.limit)

    @property
    def verdict(self) -> str:
        """Verdict in words: `holds`, `fails` or `not judged`."""
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
        passed: Whether all judged assertions hold.
        assertions: Outcomes of assertions; built-in assertions of each variant come first.
        metrics: Values by VARIANT.METRIC.
        switch: Kind of switches of a run in real time; empty in virtual time.
        fidelity: By variant, trustworthiness of the times of a run in real time.
        deadlocks: By variant, the deadlock in which it ended; only variants with a deadlock.
        takeovers: By variant, takeovers by spare NPUs; only variants with takeovers.
        cut_off: By variant, nodes that were unreachable at the end, in words; only variants with such nodes.
        reconfigurations: By variant, reconfigurations of circuits; only variants with reconfigurations.
        faults: By variant, faults ordered by time, with the keys of a scenario file.
        bounds: By variant, lower bounds of the collective of each job, the largest first.
        operations: By variant, operations of traffic graphs; only variants with a graph.
        counters: By variant, cells of counters of the user's own P4 programs; only variants with cells.
        registers: By variant, cells of registers of the user's own P4 programs; only variants with cells.
        unread_registers: By variant, registers that the switches refused to read; only variants with such.
        input: Hash of the scenario, its seed and all files that it names (harness.scenario.digest).
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
    reconfigurations: Mapping[str, tuple[ReconfigurationRecord, ...]] = field(default_factory=dict)
    faults: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[Bound, ...]] = field(default_factory=dict)
    input: str = ""
    operations: Mapping[str, tuple[OperationReport, ...]] = field(default_factory=dict)
    counters: Mapping[str, tuple[CounterCell, ...]] = field(default_factory=dict)
    registers: Mapping[str, tuple[RegisterCell, ...]] = field(default_factory=dict)
    unread_registers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, variant: str, metric: str) -> Figure:
        """Return the value of a variant's metric; KeyError if the variant does not have the metric."""
        return self.metrics[f"{variant}.{metric}"]

    @property
    def held(self) -> int:
        """Number of judged assertions that hold."""
        return sum(outcome.judged and outcome.passed for outcome in self.assertions)

    @property
    def unjudged(self) -> int:
        """Number of assertions not judged."""
        return sum(not outcome.judged for outcome in self.assertions)


def _digits(figure: Figure) -> str:
    """Return a number as text: whole numbers with all digits, other numbers with at most ten."""
    return str(int(figure)) if isfinite(figure) and figure == int(figure) else f"{figure:.10g}"


def conclude(
    scenario: Scenario, seed: int, testbed: str, runs: Mapping[str, VariantRun], *, switch: str = ""
) -> Result:
    """Return the result of a scenario.

    `testbed` is the name of the testbed, and `switch` the kind of switches on the Mininet testbed, empty on
    the embedded testbed.
    """
    metrics = {
        f"{variant}.{name}": figure for variant, run in runs.items() for name, figure in measure(run).items()
    }
    outcomes = [
        outcome for variant, run in runs.items() for outcome in _always(scenario.variant(variant), run)
    ]
    asserted = frozenset(metric for item in scenario.assertions for metric in item.metrics)
    figures = metrics | cell_figures(asserted, runs)
    if any(".faults[" in metric for metric in asserted):
        figures |= {
            f"{name}.{key}": value for name, run in runs.items() for key, value in fault_metrics(run).items()
        }
    outcomes += [_outcome(assertion, figures, runs) for assertion in scenario.assertions]

    def parts(pick: Callable[[Observation], T | None]) -> dict[str, T]:
        """Return a part of the observations by variant, without empty parts."""
        return {name: part for name, run in runs.items() if (part := pick(run.observation))}

    return Result(
        scenario=scenario.name,
        seed=seed,
        testbed=testbed,
        passed=all(outcome.passed for outcome in outcomes if outcome.judged),
        assertions=tuple(outcomes),
        metrics=metrics,
        switch=switch,
        fidelity={name: run.fidelity for name, run in runs.items() if run.fidelity},
        deadlocks=parts(lambda seen: seen.deadlock),
        takeovers=parts(lambda seen: seen.takeovers),
        cut_off=parts(lambda seen: seen.cut_off),
        reconfigurations=parts(lambda seen: seen.reconfigurations),
        faults={name: _faults(scenario.variant(name)) for name in runs},
        bounds={name: _bounds(run) for name, run in runs.items()},
        operations=parts(lambda seen: seen.operations),
        counters=parts(lambda seen: seen.counters),
        registers=parts(lambda seen: seen.registers),
        unread_registers=parts(lambda seen: seen.unread_registers),
        input=digest(scenario, seed),
    )


def _bounds(run: VariantRun) -> tuple[Bound, ...]:
    return tuple(
        Bound(job, what, round(time_ps / 10**6, 6))
        for job, named in run.bounds.items()
        for what, time_ps in sorted(named.items(), key=lambda item: -item[1])
    )


def _faults(variant: Variant) -> tuple[Mapping[str, Any], ...]:
    """Return a variant's faults sorted by time; faults at equal times keep their order in the file."""
    in_order = sorted(variant.faults, key=lambda fault: fault.at_us)
    return tuple(fault.model_dump(by_alias=True, exclude_none=True) for fault in in_order)


def _always(variant: Variant, run: VariantRun) -> list[Outcome]:
    """Return the built-in assertions of a variant: data are correct, and each fault happens before the end.

    A variant with `expect: deadlock` must end in a deadlock instead of with correct data. A variant with
    `expect: halt` must end without a result because nodes are unreachable.
    """
    seen = run.observation
    right = seen.correct_nodes == seen.nodes
    waiting = len(seen.deadlock.cycle) if seen.deadlock else 0
    name = variant.name
    blocked = f"{name}.deadlock_buffers"
    if variant.expect == "deadlock":
        outcomes = [Outcome(f"{name}: buffers wait in a circle", blocked, ">=", 2, waiting, waiting > 1)]
    elif variant.expect == "halt":
        halts = f"{name}: the job halts because nodes are unreachable"
        halted = bool(seen.cut_off) and not right
        outcomes = [Outcome(halts, f"{name}.correct_npus", "<", seen.nodes, seen.correct_nodes, halted)]
    else:
        data = f"{name}: the array of every NPU is right"
        outcomes = [Outcome(data, f"{name}.correct_npus", "==", seen.nodes, seen.correct_nodes, right)]
        if seen.deadlock:
            outcomes.append(Outcome(f"{name}: no buffers wait in a circle", blocked, "==", 0, waiting, False))
    outcomes += [
        Outcome(
            name=f"{name}: {fault.text} before the end",
            metric=f"{name}.faults[{number}].at_us",
            op="<",
            limit=seen.completion_ps / 10**6,
            value=fault.at_ps / 10**6,
            passed=0 < fault.at_ps < seen.completion_ps,
        )
        for number, fault in enumerate(seen.faults)
    ]
    return outcomes


def _outcome(assertion: Assertion, metrics: Mapping[str, Figure], runs: Mapping[str, VariantRun]) -> Outcome:
    doubtful = any(_doubtful(metric, runs) or is_unread(metric, runs) for metric in assertion.metrics)
    return compare_metrics(assertion, metrics, judged=not doubtful)


def compare_metrics(assertion: Assertion, metrics: Mapping[str, Figure], *, judged: bool = True) -> Outcome:
    """Return the outcome of an assertion on metrics by VARIANT.METRIC; a missing metric counts as 0."""
    value = metrics.get(assertion.metric, 0)  # A run without takeovers has no metrics of spares: they are 0.
    limit, origin = _limit(assertion, metrics)
    relation = {"max": value <= limit, "min": value >= limit, "equals": value == limit}[assertion.relation]
    # The time of an event that never happened is infinite, and meets no limit.
    passed = isfinite(value) and isfinite(limit) and relation
    name = assertion.name or f"{assertion.metric} {RELATIONS[assertion.relation]} {origin}"
    return Outcome(name, assertion.metric, _OPS[assertion.relation], limit, value, passed, judged)


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
