# SPDX-License-Identifier: Apache-2.0
"""Executor of tasks on a Ray cluster; Ray starts the processes, assigns them to nodes and repeats them."""

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

# Number of tasks submitted for each processor of the cluster, so that no processor is idle.
_AHEAD = 2

_SECONDS = 0.5

# Node address of a cluster on this machine alone, so that no traffic leaves the machine.
_LOOPBACK = "127.0.0.1"


@final
class RayCluster:
    """Executor on a Ray cluster, with one processor and `memory_bytes` of memory for each task.

    Each node needs Railyard, and the scenario files at the paths of this machine. A Ray process serves many
    tasks.

    Args:
        work: Function that carries out a task.
        address: Address of the cluster; None starts a cluster on this machine, for this study only.
        memory_bytes: Memory that Ray reserves for a task; None reserves none.

    Raises:
        MachineError: Ray is not installed, or there is no cluster at the address.
    """

    def __init__(self, work: Work, address: str | None, memory_bytes: int | None = None) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise MachineError(
                "Ray is not installed", remedy="install it with `pip install 'railyard[ray]'`"
            ) from None
        self._ray = ray
        # Processes of the cluster get the import path of this process.
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
        except Exception as ex:  # Ray raises a plain Exception, also for a node that does not start
            raise MachineError(
                f"the Ray cluster {address or 'on this machine'} cannot be used: {str(ex).splitlines()[0]}",
                remedy="start it with `ray start --head`, or give the address of a running cluster",
            ) from None
        limits = {} if memory_bytes is None else {"memory": memory_bytes}
        self._task = ray.remote(num_cpus=1, max_retries=TRIES - 1, **limits)(_execute)
        self._work = work

    def results(self, runs: Sequence[Task], stop: Stop) -> Iterator[Done]:
        """Yield each task when it ends; Ray repeats a task once if its process or node dies."""
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
                    yield Done(run, lost=f"Ray lost it {TRIES} times: {str(ex).splitlines()[0]}")

    def close(self) -> None:
        """Disconnect from the cluster and end all tasks; stop a cluster started by this executor."""
        self._ray.shutdown()


def _execute(task: Task, work: Work, folder: str) -> tuple[str, str]:
    """Carry out a task in a process of the cluster, in the working directory `folder`.

    Return the text of the result and an error message, one of which is empty.
    """
    os.chdir(folder)
    try:
        return work(task), ""
    except RailyardError as ex:
        return "", str(ex)
