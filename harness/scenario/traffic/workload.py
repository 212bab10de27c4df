# SPDX-License-Identifier: Apache-2.0
"""Workloads: functions that return the jobs of a variant.

A function gets the names of the members of the fabric, NPUs or GPUs, and the parameters of the scenario; if
it has a parameter `seed` that the scenario does not set, it also gets the seed of the run. It returns jobs
with the keys of `jobs:` in a scenario file:

    def in_turn(nodes, size, every_us):
        for number, first in enumerate(range(0, len(nodes) - size + 1, size)):
            yield {"at_us": number * every_us, "collective": {"members": nodes[first : first + size]}}

A job without a name is called job0, job1 and so on. An installed package adds a workload by an entry point of
the group `railyard.workloads`; a scenario names a function of a Python file as FILE.py:NAME.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, cast

from harness.errors import ScenarioError
from topologies.model.fabric import Fabric
from topologies.plugins.entry_points import Registry
from topologies.plugins.python_file import guarded

__all__ = ["GROUP", "Workload", "find", "in_turn", "jobs_of", "takes_seed"]

GROUP = "railyard.workloads"
"""Entry point group of workloads in installed packages."""

Workload = Callable[..., Iterable[Mapping[str, Any]]]
"""Function from the names of members and the parameters of a scenario to jobs."""


def in_turn(nodes: Sequence[str], size: int = 2, every_us: float = 1.0) -> Iterable[Mapping[str, Any]]:
    """Yield a job for each group of `size` consecutive members, each `every_us` us after the previous job."""
    for number, first in enumerate(range(0, len(nodes) - size + 1, size)):
        yield {"at_us": number * every_us, "collective": {"members": nodes[first : first + size]}}


def _checked(name: str, origin: str, chosen: object) -> Workload:
    if not callable(chosen):
        raise ScenarioError(
            f"workload {name} is {chosen!r}, which is not a function", remedy="name a function"
        )
    function = cast(Workload, chosen)

    @wraps(function)
    def listed(nodes: Sequence[str], **parameters: Any) -> Iterable[Mapping[str, Any]]:
        return guarded(origin, lambda: [*function(nodes, **parameters)])

    return listed


_REGISTRY: Registry[Workload] = Registry("workload", GROUP, {"in-turn": in_turn}, _checked, ScenarioError)


def find(name: str) -> Workload:
    """Return the workload with a name, or the function FILE.py:NAME.

    Raises:
        ScenarioError: There is no such workload; the message has close matches, or all names.
    """
    return _REGISTRY.find(name)


def takes_seed(name: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether the workload `name` gets the seed of the run: it has a parameter `seed` that is not set.

    Raises:
        ScenarioError: There is no such workload.
    """
    return "seed" not in parameters and "seed" in signature(find(name)).parameters


def jobs_of(
    name: str, parameters: Mapping[str, Any], fabric: Fabric, seed: int
) -> tuple[dict[str, Any], ...]:
    """Return the jobs of the workload `name` on a fabric, with the keys of `jobs:` in a scenario file.

    Raises:
        RailyardError: The workload is unknown, does not take the parameters, fails, or returns no jobs.
    """
    if takes_seed(name, parameters):
        parameters = {**parameters, "seed": seed}
    nodes = tuple(node.name for node in fabric.nodes if node.kind.member)
    try:
        rows = [*find(name)(nodes, **parameters)]
    except TypeError as ex:  # a built-in workload does not take these parameters
        raise ScenarioError(f"workload {name}: {ex}", remedy="correct `params:` of the workload") from None
    jobs: list[dict[str, Any]] = []
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ScenarioError(
                f"workload {name}: job {number} is {row!r}, which is not a dict",
                remedy="return dicts with the keys of `jobs:`",
            )
        jobs.append(_plain({"name": f"job{number}", **row}))
    if not jobs:
        raise ScenarioError(
            f"workload {name} returned no jobs",
            remedy="return one job or more for these members and `params:`",
        )
    return tuple(jobs)


def _plain(value: Any) -> Any:
    """Return a value with its lists turned into tuples, as in the document of a scenario."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return tuple(_plain(item) for item in value) if isinstance(value, list | tuple) else value
