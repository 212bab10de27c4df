# SPDX-License-Identifier: Apache-2.0
"""Table of a study: a record for each run, with axes, status and metrics; the loss of each job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.scenario.metrics import RUN_TIMES
from harness.sweeps.axes import point_in_words
from harness.sweeps.comparisons import compare_variants
from harness.sweeps.plan import StudyPlan
from harness.sweeps.store import RunResult

__all__ = [
    "HEAD",
    "RANKED",
    "RANKING",
    "Record",
    "accepted",
    "axes_of",
    "job_losses",
    "name_of",
    "passed",
    "record_of",
    "summary_json",
    "varied",
    "worst",
]

Record = dict[str, Any]
"""A row of a study's table by column: the columns of HEAD, the axes, and the metrics."""

RANKING = {"completion_us": "took, µs", "convergence_us": "tables right, µs", "lost_frames": "frames lost"}
"""Metrics in a ranking of failures, with the headings of their columns."""

RANKED = 10
"""Number of rows in a ranking of failures."""

HEAD = ("run", "variant", "seed", "cut", "failed", "status", "trouble", "spare", "cut_off")
"""Columns of a record that are neither an axis nor a metric."""

# Least ratio of a job's time to its time in the healthy run that a ranking of failures names.
_SLOWER = 1.005


def record_of(run: RunResult) -> Record:
    """Return the record of a run; its column `failed` is the number of targets that failed in the run.

    If the run halted, the times of the run and of the jobs that have no result are left out: they are the
    time at which the last sender gave up.
    """
    result, variant = run["result"] or {}, run["variant"]
    takeovers = result.get("takeovers", {}).get(variant, ())
    metrics = {
        name.removeprefix(f"{variant}."): value
        for name, value in result.get("metrics", {}).items()
        if name.startswith(f"{variant}.")
    }
    if run["status"] in ("stopped", "gave-up"):
        halted = ["", *(f"{job}." for job in _jobs(metrics) if _halted(metrics, job))]
        metrics = {
            name: value
            for name, value in metrics.items()
            if name not in {f"{job}{time}" for job in halted for time in RUN_TIMES}
        }
    return {
        "run": run["key"],
        "variant": variant,
        **run["point"],
        "seed": run["seed"],
        "cut": " and ".join(run["cut"] or ()),
        "failed": len(run["cut"] or ()),
        "status": run["status"],
        "trouble": run["trouble"],
        "spare": takeovers[0]["spare"] if takeovers else "",
        "cut_off": result.get("cut_off", {}).get(variant, ""),
        **metrics,
        **_own_cells(result, variant),
    }


def _own_cells(result: Mapping[str, Any], variant: str) -> dict[str, int]:
    """Return sums of counters and largest values of registers in the user's P4 programs, by metric name."""
    totals: dict[str, int] = {}
    for cell in result.get("counters", {}).get(variant, ()):
        for unit in ("packets", "bytes"):
            name = f"counters.{cell['counter']}.{unit}"
            totals[name] = totals.get(name, 0) + cell[unit]
    for cell in result.get("registers", {}).get(variant, ()):
        name = f"registers.{cell['register']}"
        totals[name] = max(totals.get(name, 0), cell["value"])
    return totals


def axes_of(runs: Iterable[RunResult]) -> tuple[str, ...]:
    """Return the names of the axes of all runs, in the order of their appearance."""
    return tuple(dict.fromkeys(key for run in runs for key in run["point"]))


def name_of(record: Record, axes: Sequence[str]) -> str:
    """Return the variant of a run, the values of its axes, and what failed in it or its seed."""
    point = point_in_words({axis: record[axis] for axis in axes if axis in record})
    return ", ".join([record["variant"], *point, record["cut"] or f"seed {record['seed']}"])


def varied(records: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[str]:
    """Return the axes that have several values in the records."""
    return [axis for axis in axes if len({repr(record.get(axis)) for record in records}) > 1]


def job_losses(records: Sequence[Record], axes: Sequence[str]) -> dict[str, str]:
    """Return the jobs that halted or took longer than in the healthy run, in words, by the key of the run.

    The healthy run has the same variant, seed and values of the axes, and no failed target; without one the
    words are empty. A run that does not list its jobs counts as one job, `all`.
    """

    def point(record: Record) -> str:
        return repr([record[key] for key in ("variant", "seed", *axes)])

    healthy = {point(record): record for record in records if not record["failed"]}
    return {record["run"]: _loss(record, healthy.get(point(record), {})) for record in records}


def _loss(record: Record, healthy: Record) -> str:
    if not record["failed"] or healthy.get("status") != "right":
        return ""
    words = []
    for job in _jobs(healthy) or ("",):
        name, key = job or "all", f"{job}.completion_us" if job else "completion_us"
        if key not in record:
            words.append(f"{name} halted" if record["status"] in ("stopped", "gave-up") else "")
        elif (ratio := record[key] / healthy[key]) >= _SLOWER:
            words.append(f"{name} x {ratio:.2f}")
    return ", ".join(filter(None, words))


def _jobs(metrics: Mapping[str, Any]) -> list[str]:
    """Return the names of the jobs that have metrics of their own."""
    return [name.removesuffix(".npus") for name in metrics if name.endswith(".npus")]


def _halted(metrics: Mapping[str, Any], job: str) -> bool:
    return metrics[f"{job}.correct_npus"] < metrics[f"{job}.npus"]


def passed(runs: Sequence[RunResult], *, allow_stopped: bool = False) -> bool:
    """Return whether all runs have the status `right`, or ended before their fault.

    With `allow_stopped`, runs may also have stopped because nodes were unreachable.
    """
    return all(run["status"] in accepted(allow_stopped=allow_stopped) for run in runs)


def accepted(*, allow_stopped: bool) -> set[str]:
    """Return the statuses of runs that do not fail a study; `allow_stopped` is as in `passed`."""
    return {"right", "over", *(("stopped",) if allow_stopped else ())}


def summary_json(plan: StudyPlan, runs: Sequence[RunResult], *, allow_stopped: bool = False) -> str:
    """Return the text of sweep.json: counts, assertions about several variants, and a record of each run.

    `allow_stopped` is as in `passed`.
    """
    records = [record_of(run) for run in runs]
    compared = compare_variants(plan, runs)
    # If targets fail in turn, healthy runs serve for comparison only and are not counted.
    counted = [record for record in records if record["failed"]] if plan.study.fail_each else records
    document: Mapping[str, Any] = {
        "format": "railyard-sweep",
        "schema": 1,
        **{key: value for key, value in plan.document().items() if key not in ("format", "schema", "runs")},
        "testbed": "embedded",
        "passed": passed(runs, allow_stopped=allow_stopped) and all(item.outcome.passed for item in compared),
        "assertions": [item.document() for item in compared],
        "metrics": {
            "runs": len(counted),
            "correct_runs": _count(counted, "right"),
            "over_runs": _count(counted, "over"),
            "stopped_runs": _count(counted, "stopped"),
            "gave_up_runs": _count(counted, "gave-up"),
            "runs_with_spare": sum(bool(record["spare"]) for record in counted),
        },
        "runs": records,
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def worst(records: Sequence[Record], count: int) -> list[Record]:
    """Return the `count` worst records of runs with failed targets: wrong data, halts, then longest times."""
    failing = [record for record in records if record["failed"]]
    order = ("wrong", "error", "fails", "gave-up", "stopped", "right", "over")
    return sorted(
        failing, key=lambda record: (order.index(record["status"]), -record.get("completion_us", 0))
    )[:count]


def _count(records: Sequence[Record], status: str) -> int:
    return sum(record["status"] == status for record in records)
