# SPDX-License-Identifier: Apache-2.0
"""Tasks on a Ray cluster: same keys, same folder; Ray starts, places and repeats the processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, final

from emulation.errors import MachineError
from harness.sweeps.worker_processes import TRIES, Done, Stop, Task, Work
from topologies.errors import RailyardError

__all__ = ["RayCluster"]

# Tasks that wait on the cluster for each processor, so that no processor is idle.
_AHEAD = 2

_SECONDS = 0.5

# Address of this machine for a cluster on this machine alone, so that no traffic leaves it.
_LOOPBACK = "127.0.0.1"


@final
class RayCluster:
    """Carries out tasks on a Ray cluster, each with one processor and `memory_bytes` of memory.

    The nodes need Railyard, and the scenario files at the same paths. Ray's processes serve many tasks.

    Args:
        work: Carries out a task.
        address: Address of the cluster; None starts one on this machine, for this study.
        memory_bytes: Memory that Ray keeps for a task.

    Raises:
        MachineError: Ray is not installed, or there is no cluster at the address.
    """

    def __init__(self, work: Work, address: str | None, memory_bytes: int | None = None) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise MachineError("Ray is not installed", remedy="pip install 'railyard[ray]'") from None
        self._ray = ray
        # Processes of the cluster import what this process imports.
        paths = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env=paths,
                include_dashboard=False if address is None else None,
                _node_ip_address=_LOOPBACK if (address or _LOOPBACK).startswith(_LOOPBACK) else None,
            )
        except Exception as ex:  # also of a node that does not start Ray says no more than Exception
            raise MachineError(
                f"Ray cluster {address or 'on this machine'}: {str(ex).splitlines()[0]}",
                remedy="start it with `ray start --head`, or give its address",
            ) from None
        limits = {} if memory_bytes is None else {"memory": memory_bytes}
        self._task = ray.remote(num_cpus=1, max_retries=TRIES - 1, **limits)(_execute)
        self._work = work

    def results(self, runs: Sequence[Task], stop: Stop) -> Iterator[Done]:
        """Yield the tasks as they end; Ray tries a task once more whose process or node dies."""
        waiting = list(reversed(runs))
        busy: dict[Any, Task] = {}
        ray = self._ray
        while waiting or busy:
            if stop():
                waiting.clear()
            room = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD
            while waiting and len(busy) < room:
                run = waiting.pop()
                busy[self._task.remote(run, self._work, str(Path.cwd()))] = run
            ended, _ = ray.wait([*busy], timeout=_SECONDS)
            for reference in ended:
                run = busy.pop(reference)
                try:
                    yield Done(run, *ray.get(reference))
                except ray.exceptions.RayError as ex:
                    yield Done(run, lost=f"lost on Ray {TRIES} times: {str(ex).splitlines()[0]}")

    def close(self) -> None:
        """Leave the cluster; its tasks end, and a cluster that was started here ends too."""
        self._ray.shutdown()


def _execute(task: Task, work: Work, folder: str) -> tuple[str, str]:
    """Carry out a task in a process of the cluster; its files are relative to `folder`."""
    os.chdir(folder)
    try:
        return work(task), ""
    except RailyardError as ex:
        return "", str(ex)
