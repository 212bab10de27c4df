# SPDX-License-Identifier: Apache-2.0
"""Sweep over NPUs or switches: one run for each, which fails in place of the scenario's faults."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, final

from lab.errors import ScenarioError
from lab.run.prepare import Prepared, prepare
from lab.scenario.loader import load
from lab.scenario.schema import Fault, Scenario
from lab.sweeps.parallel import in_processes, only, prepared_from, with_faults
from topologies import RailyardError

__all__ = ["Failure", "Failures", "TargetKind", "failures", "passed", "plan_failures", "to_json"]

TargetKind = Literal["npu", "switch"]


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """Result of the run in which `target` failed; `trouble` describes what went wrong, empty if nothing did.

    `spare` is the NPU that took over, empty without a takeover; `cut_off` names the nodes that were
    unreachable at the end.
    """

    target: str
    right: bool
    completion_us: float
    convergence_us: float
    spare: str = ""
    takeover_us: float = 0.0
    cut_off: str = ""
    trouble: str = ""

    @property
    def stopped(self) -> bool:
        """True if the run ended without a result because nodes were unreachable."""
        return not self.right and bool(self.cut_off)


@final
@dataclass(frozen=True, slots=True)
class Failures:
    """Plan of a sweep over `targets`, all of one kind, in the fabric's order."""

    path: Path
    variant: str
    seed: int
    kind: TargetKind
    targets: tuple[str, ...]


def plan_failures(
    path: Path, variant: str | None, seed: int | None, kind: TargetKind
) -> tuple[Scenario, Failures]:
    """Plan the sweep of a variant, by default the first with a fault, and check it before the first run.

    The targets are the NPUs of the job, or all switches. Each fails at the time of the variant's first fault.

    Raises:
        ScenarioError: The variant has no fault, or the fabric has no node of that kind.
    """
    scenario, document = load(path)
    chosen = with_faults(scenario, document, [variant] if variant else [])[:1]
    (ready,) = prepare(only(scenario, chosen), document)
    switches = tuple(node.name for node in ready.fabric.nodes if node.tier)
    targets = ready.members if kind == "npu" else switches
    if not targets:
        message = document.at(("topology",), f"fabric {ready.fabric.name} has no {kind} that could fail")
        raise ScenarioError(message, remedy="take a fabric with switches, such as ub-rack-lrs")
    return scenario, Failures(path, chosen[0].name, scenario.seed if seed is None else seed, kind, targets)


def failures(planned: Failures, jobs: int) -> Generator[Failure, None, None]:
    """Yield the results in order, from parallel processes; closing early waits for running processes."""
    return in_processes(_fail, planned.targets, jobs, _enter, planned)


def passed(planned: Failures, results: Sequence[Failure]) -> bool:
    """Return whether all runs are correct, or stopped because a failed switch left nodes unreachable."""
    return all(run.right or (planned.kind == "switch" and run.stopped) for run in results)


def to_json(scenario: Scenario, planned: Failures, testbed: str, results: Sequence[Failure]) -> str:
    """Return the text of sweep.json."""
    document: dict[str, Any] = {
        "scenario": scenario.name,
        "variant": planned.variant,
        "seed": planned.seed,
        "testbed": testbed,
        "failed": planned.kind,
        "passed": passed(planned, results),
        "metrics": {
            "runs": len(results),
            "correct_runs": sum(run.right for run in results),
            "stopped_runs": sum(run.stopped for run in results),
            "runs_with_spare": sum(bool(run.spare) for run in results),
        },
        "runs": [asdict(run) for run in results],
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


# State of a worker process, set once and used for every run.
_work: tuple[Prepared, Failures] | None = None


def _enter(planned: Failures) -> None:
    global _work
    _work = prepared_from(planned.path, [planned.variant])[planned.variant], planned


def _fail(target: str) -> Failure:
    from lab.report.metrics import METRICS, SPARE_METRICS, VariantRun
    from lab.run.runner import observe

    assert _work is not None
    ready, planned = _work
    at_us = ready.variant.faults[0].at_us
    ready = ready.with_faults((Fault.model_validate({"at_us": at_us, planned.kind: target}),))
    try:
        seen = observe(ready, planned.seed)
    except RailyardError as ex:
        return Failure(target, False, 0.0, 0.0, trouble=str(ex))
    run = VariantRun(seen, ready.bound_ps, {})
    inside = 0 < seen.faults[0].at_ps < seen.completion_ps
    return Failure(
        target=target,
        right=seen.correct_nodes == seen.nodes and inside,
        completion_us=METRICS["completion_us"].of(run),
        convergence_us=METRICS["convergence_us"].of(run),
        spare=seen.takeovers[0].spare if seen.takeovers else "",
        takeover_us=SPARE_METRICS["takeover_us"].of(run),
        cut_off=seen.cut_off,
        trouble=seen.first_wrong or ("" if inside else "the run ended before the failure"),
    )
