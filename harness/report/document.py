# SPDX-License-Identifier: Apache-2.0
"""Write a result as result.json, a JSON document; result.schema.json beside this module is its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from emulation.control.reconfiguration_record import ReconfigurationRecord
from emulation.control.takeover import TakeoverRecord
from harness.report.results import Result
from harness.run.observation.values import OperationReport
from harness.scenario.metrics import ALL_METRICS
from harness.version import railyard_version

__all__ = ["FORMAT", "SCHEMA_VERSION", "operation_document", "result_schema", "to_document", "to_json"]

T = TypeVar("T")

FORMAT = "railyard-result"
SCHEMA_VERSION = 1
"""Version of the schema; it increases when a key is removed or changes its meaning, not for new keys."""

# Units of the metrics of jobs, which are the endings of their names; scenario.metrics declares all other
# units.
_UNITS = ("us", "frames", "percent")


def to_json(result: Result) -> str:
    """Return the text of result.json for a result."""
    return json.dumps(to_document(result), indent=2, sort_keys=True, allow_nan=False) + "\n"


def to_document(result: Result) -> dict[str, Any]:
    """Return the content of result.json, without keys for empty parts of the result such as deadlocks."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "schema": SCHEMA_VERSION,
        "railyard": railyard_version(),
        "input": result.input,
        "scenario": result.scenario,
        "seed": result.seed,
        "testbed": result.testbed,
        "passed": result.passed,
        "faults": {name: [dict(fault) for fault in faults] for name, faults in result.faults.items()},
        "assertions": [asdict(outcome) for outcome in result.assertions],
        "metrics": dict(result.metrics),
        "units": units(result.metrics),
    }
    optional: dict[str, Any] = {
        "bounds": _listed(result.bounds, asdict) if any(result.bounds.values()) else {},
        "switch": result.switch,
        "deadlocks": {
            name: {"at_us": deadlock.at_ps / 10**6, "cycle": [list(link) for link in deadlock.cycle]}
            for name, deadlock in result.deadlocks.items()
        },
        "takeovers": _listed(result.takeovers, TakeoverRecord.document),
        "cut_off": dict(result.cut_off),
        "reconfigurations": _listed(result.reconfigurations, ReconfigurationRecord.document),
        "operations": _listed(result.operations, operation_document),
        "counters": _listed(result.counters, asdict),
        "registers": _listed(result.registers, asdict),
        "unread_registers": {name: [*unread] for name, unread in result.unread_registers.items()},
    }
    document |= {key: value for key, value in optional.items() if value}
    if result.fidelity:
        document["fidelity"] = {name: fidelity.document() for name, fidelity in result.fidelity.items()}
    else:
        for outcome in document["assertions"]:
            del outcome["judged"]
    for outcome in document["assertions"]:  # JSON has no infinite numbers
        for key in ("value", "limit"):
            outcome[key] = outcome[key] if isfinite(outcome[key]) else None
    return document


def _listed(parts: Mapping[str, Iterable[T]], document: Callable[[T], Any]) -> dict[str, list[Any]]:
    """Return the documents of the items of each variant, by name of the variant."""
    return {name: [document(item) for item in items] for name, items in parts.items()}


def operation_document(report: OperationReport) -> dict[str, Any]:
    """Return the block of result.json for an operation of a traffic graph."""
    times = {"begin_us": report.begin_ps, "end_us": report.end_ps}
    return {
        "job": report.job,
        "id": report.id,
        "kind": report.kind,
        "members": list(report.members),
        "bytes": report.size,
        **{key: None if time is None else time / 10**6 for key, time in times.items()},
    }


def units(names: Iterable[str]) -> Mapping[str, str]:
    """Return units by the last part of metrics' names: us, frames, bytes, percent, ratio or count."""
    return {last: _unit(last) for last in sorted({name.rpartition(".")[2] for name in names})}


def _unit(name: str) -> str:
    if name in ALL_METRICS:
        return ALL_METRICS[name].unit or "count"
    if name == "ratio_to_bound":
        return "ratio"
    return next((unit for unit in _UNITS if name.endswith(f"_{unit}")), "count")


@cache
def result_schema() -> str:
    """Return the text of the JSON schema (draft 2020-12) of result.json."""
    return Path(__file__).with_name("result.schema.json").read_text(encoding="utf-8")
