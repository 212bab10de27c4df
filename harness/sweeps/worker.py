# SPDX-License-Identifier: Apache-2.0
"""Worker of a study: it carries out a run, in any process, and returns the text of its result file."""

from __future__ import annotations

import json
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.report.document import to_document
from harness.report.results import Result, conclude
from harness.run.observation.values import Observation
from harness.run.prepare import PlanCache, prepare
from harness.run.runner import run as run_variants
from harness.scenario.document import Document
from harness.sweeps.plan import Run
from topologies.errors import RailyardError

__all__ = ["STATUSES", "execute"]

STATUSES = {
    "right": "the data is right and all assertions hold",
    "over": "the run ended before a fault",
    "stopped": "the run ended without a result because nodes were unreachable",
    "fails": "an assertion fails",
    "gave-up": "the run ended without a result because a rank gave up although it knew a route",
    "wrong": "the data of an NPU is wrong",
    "error": "the run is impossible",
}
"""Meaning of each status of a run."""

# Values that runs of one topology share, for the topologies that were used last.
_CACHES: OrderedDict[str, PlanCache] = OrderedDict()
_TOPOLOGIES = 2
_PLANS = 8


def execute(run: Run, path: Path) -> str:
    """Carry out a run, and return the text of its result file; equal runs give equal texts.

    An error of the scenario gives a result with the status `error`.

    Errors name lines of the scenario file `path`.

    Raises:
        RailyardError: This machine lacks a requirement of the run, such as memory.
    """
    document: dict[str, Any] = {
        "format": "railyard-run",
        "schema": 1,
        "key": run.key,
        "variant": run.variant.name,
        "seed": run.scenario.seed,
        "point": dict(run.point),
        "cut": None if run.case is None else list(run.case.targets),
        "status": "error",
        "trouble": "",
        "result": None,
    }
    try:
        ready = prepare(run.scenario, _document(path), cache=_cache(run))
        seen = run_variants(ready, run.scenario.seed).runs
    except RailyardError as ex:
        if ex.of_machine:
            raise
        document["trouble"] = str(ex)
    else:
        result = conclude(run.scenario, run.scenario.seed, "embedded", seen)
        document["result"] = to_document(result)
        document["status"], document["trouble"] = _judged(result, next(iter(seen.values())).observation)
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False) + "\n"


def _judged(result: Result, seen: Observation) -> tuple[str, str]:
    """Return the status of a run and a description of the run's trouble, empty for `right`."""
    failed = [item for item in result.assertions if item.verdict == "fails"]
    late = [item for item in failed if ".faults[" in item.metric and item.metric.endswith(".at_us")]
    data = [item for item in failed if item.metric.endswith((".correct_npus", ".deadlock_buffers"))]
    if data:
        status = "stopped" if seen.cut_off else "gave-up" if seen.given_up else "wrong"
        return status, seen.first_wrong or data[0].name
    if late:
        return "over", f"ended at {late[0].limit:g} us, before the fault at {late[0].value:g} us"
    return ("fails", f"not: {failed[0].name}") if failed else ("right", "")


@lru_cache(maxsize=1)
def _document(path: Path) -> Document:
    return Document(path)


def _cache(run: Run) -> PlanCache:
    topology = run.scenario.topology.model_dump_json()
    cache = _CACHES.pop(topology, None)
    if cache is None or len(cache.plans) > _PLANS:
        cache = PlanCache()
    _CACHES[topology] = cache
    while len(_CACHES) > _TOPOLOGIES:
        _CACHES.popitem(last=False)
    return cache
