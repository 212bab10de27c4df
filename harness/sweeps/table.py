# SPDX-License-Identifier: Apache-2.0
"""Table of a study: a record for each run, with its axes, its status and its metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.sweeps.comparisons import compare_variants
from harness.sweeps.plan import StudyPlan
from harness.sweeps.store import RunResult

__all__ = ["RANKED", "RANKING", "Record", "axes_of", "passed", "record_of", "summary_json", "worst"]

Record = dict[str, Any]
"""A row of a study's table by column: the columns of HEAD, the axes, and the metrics."""

RANKING = {"completion_us": "took, µs", "convergence_us": "tables right, µs", "lost_frames": "frames lost"}
"""Metrics in a ranking of failures, with the headings of their columns."""

RANKED = 10
"""Number of rows in a ranking of failures."""

HEAD = ("run", "variant", "seed", "cut", "failed", "status", "trouble", "spare", "cut_off")
"""Columns of a record that are neither an axis nor a metric."""


def record_of(run: RunResult) -> Record:
    """Return the record of a run; its column `failed` is the number of targets that failed in the run."""
    result, variant = run["result"] or {}, run["variant"]
    takeovers = result.get("takeovers", {}).get(variant, ())
    metrics = {name.removeprefix(f"{variant}."): value for name, value in result.get("metrics", {}).items()}
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
    }


def axes_of(runs: Iterable[RunResult]) -> tuple[str, ...]:
    """Return the names of the axes of all runs, in the order of their appearance."""
    return tuple(dict.fromkeys(key for run in runs for key in run["point"]))


def passed(runs: Sequence[RunResult], fail_each: Sequence[str]) -> bool:
    """Return whether all runs have the status `right`, or ended before their fault.

    If switches or random links fail in turn, runs may also have stopped because nodes were unreachable.
    """
    parts = any(kind == "switch" or kind.startswith("random:") for kind in fail_each)
    accepted = {"right", "over", *(("stopped",) if parts else ())}
    return all(run["status"] in accepted for run in runs)


def summary_json(plan: StudyPlan, runs: Sequence[RunResult]) -> str:
    """Return the text of sweep.json: counts, assertions about several variants, and a record of each run."""
    records = [record_of(run) for run in runs]
    compared = compare_variants(plan, runs)
    # If targets fail in turn, healthy runs serve for comparison only and are not counted.
    counted = [record for record in records if record["failed"]] if plan.study.fail_each else records
    document: Mapping[str, Any] = {
        "format": "railyard-sweep",
        "schema": 1,
        **{key: value for key, value in plan.document().items() if key not in ("format", "schema", "runs")},
        "testbed": "embedded",
        "passed": passed(runs, plan.study.fail_each) and all(item.outcome.passed for item in compared),
        "assertions": [item.document() for item in compared],
        "metrics": {
            "runs": len(counted),
            "correct_runs": _count(counted, "right"),
            "over_runs": _count(counted, "over"),
            "stopped_runs": _count(counted, "stopped"),
            "runs_with_spare": sum(bool(record["spare"]) for record in counted),
        },
        "runs": records,
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def worst(records: Sequence[Record], count: int) -> list[Record]:
    """Return the `count` worst records of runs with failed targets: wrong results, then longest times."""
    failing = [record for record in records if record["failed"]]
    order = ("wrong", "error", "fails", "stopped", "right", "over")
    return sorted(
        failing, key=lambda record: (order.index(record["status"]), -record.get("completion_us", 0))
    )[:count]


def _count(records: Sequence[Record], status: str) -> int:
    return sum(record["status"] == status for record in records)
