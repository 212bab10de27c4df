# SPDX-License-Identifier: Apache-2.0
"""Workloads: functions that say which nodes send what to which nodes, and when, as the jobs of a variant.

A function gets the names of the members of the fabric, NPUs or GPUs, and the parameters of the scenario; it
returns jobs with the keys that they have in a scenario file:

    def in_turn(nodes, size, every_us):
        for number, first in enumerate(range(0, len(nodes) - size + 1, size)):
            yield {"at_us": number * every_us, "collective": {"members": nodes[first : first + size]}}

A job without a name is called job0, job1 and so on. An installed package adds a workload by an entry point of
the group `railyard.workloads`; a scenario names a function of a Python file as FILE.py:NAME.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from harness.errors import ScenarioError
from topologies.model.fabric import Fabric
from topologies.plugins.entry_points import Registry
from topologies.plugins.python_file import guarded

__all__ = ["GROUP", "Workload", "find", "in_turn", "jobs_of"]

GROUP = "railyard.workloads"
"""Entry point group of workloads in installed packages."""

Workload = Callable[..., Iterable[Mapping[str, Any]]]
"""Returns jobs for the names of members and for the parameters of a scenario."""


def in_turn(nodes: Sequence[str], size: int = 2, every_us: float = 1.0) -> Iterable[Mapping[str, Any]]:
    """Yield a job for each `size` members in their order, each `every_us` microseconds after the last."""
    for number, first in enumerate(range(0, len(nodes) - size + 1, size)):
        yield {"at_us": number * every_us, "collective": {"members": nodes[first : first + size]}}


def _checked(name: str, origin: str, chosen: object) -> Workload:
    if not callable(chosen):
        raise ScenarioError(f"workload {name} is {chosen!r}, not a function", remedy="name a function")
    function = cast(Workload, chosen)
    return lambda nodes, **parameters: guarded(origin, lambda: [*function(nodes, **parameters)])


_REGISTRY: Registry[Workload] = Registry("workload", GROUP, {"in-turn": in_turn}, _checked, ScenarioError)


def find(name: str) -> Workload:
    """Return the workload of a name or of FILE.py:NAME; ScenarioError names close matches, or all names."""
    return _REGISTRY.find(name)


def jobs_of(name: str, parameters: Mapping[str, Any], fabric: Fabric) -> tuple[dict[str, Any], ...]:
    """Return the jobs of a workload as a scenario file has them; RailyardError says what is wrong."""
    nodes = tuple(node.name for node in fabric.nodes if node.kind.member)
    try:
        rows = [*find(name)(nodes, **parameters)]
    except TypeError as ex:  # a workload of this project with parameters that it does not take
        raise ScenarioError(f"workload {name}: {ex}", remedy="correct its params") from None
    jobs: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ScenarioError(
                f"workload {name}: job {number} is {row!r}", remedy="return dicts with the keys of `jobs:`"
            )
        jobs.append(_plain({"name": f"job{number}", **row}))
    if not jobs:
        raise ScenarioError(f"workload {name}: no jobs", remedy="return one or more")
    return tuple(jobs)


def _plain(value: Any) -> Any:
    """Return a value as a scenario's document has it: lists as tuples."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return tuple(_plain(item) for item in value) if isinstance(value, list | tuple) else value
