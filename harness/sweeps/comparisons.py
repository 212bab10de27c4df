# SPDX-License-Identifier: Apache-2.0
"""Assertions that compare variants, judged at each point and seed of a study.

Each run of a study has a single variant, and judges the assertions about that variant alone. Assertions about
several variants are judged here, when the runs of these variants have ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from harness.report.results import Outcome, compare_metrics
from harness.sweeps.plan import StudyPlan, variants_of
from harness.sweeps.store import RunResult

__all__ = ["Comparison", "compare_variants"]


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcome of an assertion about several variants, at one point and seed of a study."""

    point: Mapping[str, Any]
    seed: int
    outcome: Outcome

    def document(self) -> dict[str, Any]:
        """Return the outcome as an object of sweep.json."""
        outcome = self.outcome
        return {
            "point": dict(self.point),
            "seed": self.seed,
            "name": outcome.name,
            "metric": outcome.metric,
            "op": outcome.op,
            "limit": outcome.limit,
            "value": outcome.value,
            "passed": outcome.passed,
        }


def compare_variants(plan: StudyPlan, results: Sequence[RunResult]) -> list[Comparison]:
    """Return the outcomes of the assertions about several variants of a study, in the order of its runs.

    An assertion is not judged at a point and seed where the run of one of its variants has no result. A study
    with targets that fail in turn judges no assertions, because they were written for other faults.
    """
    if plan.study.fail_each:
        return []
    metrics: dict[tuple[str, int], dict[str, float]] = {}
    variants: dict[tuple[str, int], set[str]] = {}
    points: dict[tuple[str, int], Mapping[str, Any]] = {}
    for run in results:
        if run["result"] is not None:
            case = repr(run["point"]), run["seed"]
            points.setdefault(case, run["point"])
            metrics.setdefault(case, {}).update(run["result"]["metrics"])
            variants.setdefault(case, set()).add(run["variant"])
    return [
        Comparison(point, case[1], outcome)
        for case, point in points.items()
        for outcome in _outcomes(plan, metrics[case], variants[case])
    ]


def _outcomes(plan: StudyPlan, metrics: Mapping[str, float], variants: set[str]) -> Iterator[Outcome]:
    for assertion in plan.scenario.assertions:
        about = variants_of(assertion)
        if len(about) > 1 and about <= variants:
            yield compare_metrics(assertion, metrics)
