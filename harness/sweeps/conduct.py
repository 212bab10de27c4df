# SPDX-License-Identifier: Apache-2.0
"""Carrying out of a study: the runs that have no result yet, healthy runs first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
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
    "late_runs",
    "local_executor",
    "memory_of",
    "results_of",
    "shard_of",
    "work_of",
]


class Results(Protocol):
    """Results of runs by key, such as a folder."""

    def get(self, key: str) -> RunResult | None:
        """Return the result of a run; None if there is none yet."""
        ...

    def put(self, key: str, text: str) -> RunResult:
        """Keep the text of the result file of a run, and return its content."""
        ...


@final
@dataclass(slots=True)
class Conducted:
    """Runs of a study without a result: `lost`, although they were tried, and `late`, which were left out.

    The failures of a `late` run would all come after the end of its healthy run, so it is not carried out.
    """

    lost: list[Done] = field(default_factory=list)
    late: list[Run] = field(default_factory=list)


def conduct(
    runs: Sequence[Run],
    results: Results,
    executor: Executor,
    *,
    stop: Stop = lambda: False,
    note: Callable[[Done], None] = lambda _: None,
) -> Conducted:
    """Carry out the runs that have no result yet; `note` receives each run as it ends."""
    conducted = Conducted()

    def carried_out(some: Sequence[Run]) -> None:
        lost = {done.run.key for done in conducted.lost}
        for done in carry_out([run for run in some if run.key not in lost], results, executor, stop):
            if done.lost:
                conducted.lost.append(done)
            note(done)

    carried_out([run for run in runs if run.case is not None and not run.case.targets])
    conducted.late.extend(late_runs(runs, results))
    late = {run.key for run in conducted.late}
    carried_out([run for run in runs if run.key not in late])
    return conducted


def carry_out(
    tasks: Sequence[Task], results: Results, executor: Executor, stop: Stop = lambda: False
) -> Iterator[Done]:
    """Carry out the tasks that have no result yet, each key once, keep their results, and yield each."""
    missing = {task.key: task for task in tasks if results.get(task.key) is None}
    for done in executor.results([*missing.values()], stop):
        if not done.lost:
            results.put(done.run.key, done.text)
        yield done


def late_runs(runs: Sequence[Run], results: Results) -> list[Run]:
    """Return the runs whose failures would all come after the end of their healthy run."""
    healthy = [run for run in runs if run.case is not None and not run.case.targets]
    ends = {_place(run): result for run in healthy if (result := results.get(run.key)) is not None}
    return [
        run
        for run in runs
        if run.case is not None
        and run.case.targets
        and (result := ends.get(_place(run))) is not None
        and _too_late(run, result)
    ]


def _place(run: Run) -> tuple[object, ...]:
    """Return what a run has in common with its healthy run."""
    return run.variant.name, run.scenario.seed, repr(run.point)


def _too_late(run: Run, healthy: RunResult) -> bool:
    """Return whether all faults of a run come after the end of the healthy run."""
    if healthy["result"] is None:
        return False
    end_us = healthy["result"]["metrics"][f"{run.variant.name}.completion_us"]
    return all(fault.at_us >= end_us for fault in run.variant.faults)


def shard_of(runs: Sequence[Run], number: int, count: int) -> list[Run]:
    """Return every `count`-th run, from the run `number` (1 or more) on."""
    return [*runs[number - 1 :: count]]


def memory_of(runs: Sequence[Run], path: Path) -> int:
    """Return the memory, in bytes, that the largest of the runs needs in a process of its own.

    The largest has the most nodes times elements; an impossible run needs none.
    """
    largest: dict[str, Run] = {}
    for run in runs:
        place = run.scenario.topology.model_dump_json()
        if place not in largest or _elements(run) > _elements(largest[place]):
            largest[place] = run
    try:
        nodes = {place: len(run.scenario.topology.build().nodes) for place, run in largest.items()}
        chosen = max(largest, key=lambda place: nodes[place] * _elements(largest[place]), default=None)
        if chosen is None:
            return 0
        prepared = prepare(largest[chosen].scenario, Document(path))
    except RailyardError:
        return 0
    return whole_bytes(prepared)


def _elements(run: Run) -> int:
    return sum(job.collective.elements for job in run.variant.every_job)


def local_executor(plan: StudyPlan, jobs: int, runs: int) -> Executor:
    """Return an executor of this machine for so many runs: this process, or up to `jobs` processes."""
    work = work_of(plan)
    return InProcess(work) if min(jobs, runs) <= 1 else LocalPool(work, min(jobs, runs))


def work_of(plan: StudyPlan, path: Path | None = None) -> Work:
    """Return what carries out a run of a study; `path` is the scenario file in place of the plan's."""
    return partial(execute, path=path or plan.path)


def results_of(
    plan: StudyPlan, jobs: int | None = None, note: Callable[[Done], None] = lambda _: None
) -> list[RunResult]:
    """Return the results of all runs of a study in order, without a folder; `late` runs are left out.

    Raises:
        EmulationError: A run was lost with its process.
    """
    store = ResultStore()
    with closing(local_executor(plan, jobs or os.cpu_count() or 1, len(plan.runs))) as executor:
        conducted = conduct(plan.runs, store, executor, note=note)
    if conducted.lost:
        done = conducted.lost[0]
        raise MachineError(f"{done.run.name}: {done.lost}", remedy="use fewer processes if memory ran out")
    late = {run.key for run in conducted.late}
    return [store.results[run.key] for run in plan.runs if run.key not in late]


@final
class ResultStore:
    """Results of runs by key, in memory."""

    def __init__(self) -> None:
        self.results: dict[str, RunResult] = {}

    def get(self, key: str) -> RunResult | None:
        """Return the result of a run; None if there is none yet."""
        return self.results.get(key)

    def put(self, key: str, text: str) -> RunResult:
        """Keep the text of the result file of a run, and return its content."""
        return self.results.setdefault(key, json.loads(text))
