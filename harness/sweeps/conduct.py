# SPDX-License-Identifier: Apache-2.0
"""Carry out the remaining runs of a study, healthy runs first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Protocol, final

from emulation.errors import MachineError
from harness.run.estimated_memory import whole_bytes
from harness.run.prepare import prepare
from harness.scenario.document import Document
from harness.sweeps.plan import Run, StudyPlan
from harness.sweeps.store import RunResult
from harness.sweeps.worker import execute
from harness.sweeps.worker_processes import Done, Executor, InProcess, LocalPool, Stop, Task, Work
from topologies.errors import RailyardError

__all__ = [
    "Conducted",
    "ResultStore",
    "Results",
    "carry_out",
    "conduct",
    "local_executor",
    "memory_of",
    "results_of",
    "shard_of",
    "work_of",
]


class Results(Protocol):
    """Store of the results of runs by key, such as the folder of a study."""

    def get(self, key: str) -> RunResult | None:
        """Return the result of a run; None if there is none yet."""
        ...

    def put(self, key: str, text: str) -> RunResult:
        """Store the text of the result file of a run, and return its content."""
        ...


@final
@dataclass(slots=True)
class Conducted:
    """Outcome of `conduct`: the runs of a study that are left without a result.

    `lost` runs were tried, but their processes died or this machine failed. `late` runs were left out,
    because all their faults would come after the end of the healthy run.
    """

    lost: list[Done] = field(default_factory=list)
    late: list[Run] = field(default_factory=list)


def conduct(
    runs: Sequence[Run],
    results: Results,
    executor: Executor,
    *,
    in_turn: bool = False,
    stop: Stop = lambda: False,
    note: Callable[[Done], None] = lambda _: None,
) -> Conducted:
    """Carry out the runs that have no result yet, healthy runs first.

    Args:
        runs: All runs of the study.
        results: Store that has earlier results and receives new ones.
        executor: Executor that carries out the runs.
        in_turn: Take a run of each variant, point and seed in turn, so that all have results when time runs
            out; otherwise the runs keep their order, in which those of equal plans follow each other.
        stop: Returns True when no further run shall begin.
        note: Receives each run when it ends.
    """
    conducted = Conducted()
    for done in carry_out(_in_turn(runs) if in_turn else runs, results, executor, stop):
        if done.late and isinstance(done.run, Run):
            conducted.late.append(done.run)
            continue
        if done.lost:
            conducted.lost.append(done)
        note(done)
    return conducted


def carry_out(
    tasks: Sequence[Task], results: Results, executor: Executor, stop: Stop = lambda: False
) -> Iterator[Done]:
    """Carry out the tasks without a result, each key once, runs in which no target fails first.

    Store the results, and yield each task when it ends. Runs whose faults would all come after the end of the
    corresponding healthy run are left out; they are yielded as `late`.
    """

    def ended(some: Iterable[Task]) -> Iterator[Done]:
        missing = {task.key: task for task in some if results.get(task.key) is None}
        for done in executor.results([*missing.values()], stop):
            if not done.lost:
                results.put(done.run.key, done.text)
            yield done

    runs = [task for task in tasks if isinstance(task, Run) and task.case is not None]
    failing = {run.key: run for run in runs if run.case and run.case.targets}
    yield from ended(task for task in tasks if task.key not in failing)
    ends = {_place(run): results.get(run.key) for run in runs if run.key not in failing}
    late = {key: run for key, run in failing.items() if _too_late(run, ends.get(_place(run)))}
    yield from (Done(run, late=True) for run in late.values())
    yield from ended(run for run in failing.values() if run.key not in late)


def _place(run: Run) -> tuple[object, ...]:
    """Return the variant, seed and point of a run; they also identify the healthy run for comparison."""
    return run.variant.name, run.scenario.seed, repr(run.point)


def _in_turn(runs: Sequence[Run]) -> list[Run]:
    """Return the runs in an order that takes a run of each variant, point and seed in turn."""
    places: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        places.setdefault(_place(run), []).append(run)
    return [run for turn in zip_longest(*places.values()) for run in turn if run is not None]


def _too_late(run: Run, healthy: RunResult | None) -> bool:
    """Return whether all faults of a run come after the end of the healthy run, if that has a result."""
    if healthy is None or healthy["result"] is None:
        return False
    end_us = healthy["result"]["metrics"][f"{run.variant.name}.completion_us"]
    return all(fault.at_us >= end_us for fault in run.variant.faults)


def shard_of(runs: Sequence[Run], number: int, count: int) -> list[Run]:
    """Return every `count`-th run, beginning with the run `number`, counted from 1."""
    return [*runs[number - 1 :: count]]


def memory_of(runs: Sequence[Run], path: Path) -> int:
    """Return the memory in bytes of a process that carries out the largest of the runs.

    The largest run has the largest product of nodes and elements. Return 0 if it cannot be prepared.
    """
    largest: dict[str, Run] = {}
    for run in runs:
        topology = run.scenario.topology.model_dump_json()
        if topology not in largest or _elements(run) > _elements(largest[topology]):
            largest[topology] = run
    try:
        nodes = {topology: len(run.scenario.topology.build().nodes) for topology, run in largest.items()}
        chosen = max(largest, key=lambda key: nodes[key] * _elements(largest[key]), default=None)
        if chosen is None:
            return 0
        prepared = prepare(largest[chosen].scenario, Document(path))
    except RailyardError:
        return 0
    return whole_bytes(prepared)


def _elements(run: Run) -> int:
    return sum(job.collective.elements for job in run.variant.every_job)


def local_executor(plan: StudyPlan, jobs: int, runs: int) -> Executor:
    """Return an executor on this machine for `runs` runs: this process, or up to `jobs` processes."""
    work = work_of(plan)
    return InProcess(work) if min(jobs, runs) <= 1 else LocalPool(work, min(jobs, runs))


def work_of(plan: StudyPlan, path: Path | None = None) -> Work:
    """Return a function to carry out a run of a study; `path` replaces the plan's scenario file."""
    return partial(execute, path=path or plan.path)


def results_of(
    plan: StudyPlan, jobs: int | None = None, note: Callable[[Done], None] = lambda _: None
) -> list[RunResult]:
    """Carry out a study without a folder, and return the results of its runs in order.

    Runs whose faults would all come after the end of the healthy run are left out.

    Raises:
        MachineError: A run was lost with its process.
    """
    store = ResultStore()
    with closing(local_executor(plan, jobs or os.cpu_count() or 1, len(plan.runs))) as executor:
        conducted = conduct(plan.runs, store, executor, note=note)
    if conducted.lost:
        done = conducted.lost[0]
        raise MachineError(
            f"the run {done.run.name} has no result: {done.lost}",
            remedy="use fewer processes if memory ran out",
        )
    late = {run.key for run in conducted.late}
    return [store.results[run.key] for run in plan.runs if run.key not in late]


@final
class ResultStore:
    """Store of the results of runs by key, in memory."""

    def __init__(self) -> None:
        self.results: dict[str, RunResult] = {}

    def get(self, key: str) -> RunResult | None:
        """Return the result of a run; None if there is none yet."""
        return self.results.get(key)

    def put(self, key: str, text: str) -> RunResult:
        """Store the text of the result file of a run, and return its content."""
        return self.results.setdefault(key, json.loads(text))
