# SPDX-License-Identifier: Apache-2.0
"""Run the checks of a file of claims, in parallel; compute each figure once, also if a run is resumed.

checks -> tasks by key -> carry_out(tasks, stored figures, executor) -> rows, check by check in order
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, final

from harness.sweeps.conduct import carry_out, late_runs
from harness.sweeps.worker_processes import Done, Executor, InProcess, LocalPool, Stop
from papers.claims.check import Check, Row, judged
from papers.claims.figures import tasks as work
from papers.claims.figures.sources import Figures, ScenarioSource, Source
from papers.claims.figures.tasks import Task
from papers.claims.store import FigureStore
from topologies.errors import RailyardError

__all__ = ["Finished", "Job", "Note", "Runner", "local", "rows_of"]

Note: TypeAlias = Callable[[str, str, float], None]
"""Function called with the name of a task, its current activity, and the share done, 0 to 1."""

Executors: TypeAlias = Callable[[int], Executor]
"""Function that makes an executor for at most this number of processes."""


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A source to compute for a check: unchanged, or with the parameters of a mutation."""

    check: Check
    source: Source
    changes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, check: Check, changes: Mapping[str, Any] | None = None) -> Job:
        """Return the job of a check, with the parameters of a mutation if given."""
        return cls(check, check.source.changed(changes) if changes else check.source, changes or {})


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """A finished job: its figures, or None and the reason in `trouble`."""

    job: Job
    figures: Figures | None
    picture: str = ""
    trouble: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of the check's claims; without figures every verdict is "unexpected"."""
        claims = self.job.check.claims
        if self.figures is None:
            return tuple(Row(claim, None, "unexpected", self.trouble) for claim in claims)
        return judged(claims, self.figures)


def local(note: Note | None = None) -> Executors:
    """Return a maker of executors on this machine: this process for 1 task at a time, else a process pool."""

    def make(jobs: int) -> Executor:
        if jobs <= 1:
            return InProcess(partial(work.carry_out, note=note))
        return LocalPool(work.carry_out, jobs)

    return make


@final
class Runner:
    """Runner of jobs; it computes only figures that `kept` does not have.

    Args:
        kept: figures of finished tasks.
        executors: makes the executor that runs tasks.
        processes: largest number of tasks that run at the same time.
    """

    def __init__(self, kept: FigureStore, executors: Executors, processes: int = 1) -> None:
        self._kept = kept
        self._executors = executors
        self._processes = processes
        self._lost: dict[str, str] = {}

    def has(self, job: Job) -> bool:
        """Return whether the figures of all tasks of a job are stored."""
        return all(self._kept.get(task.key) is not None for task in job.source.tasks(job.check.name))

    def finished(
        self,
        jobs: Sequence[Job],
        *,
        stop: Stop = lambda: False,
        note: Callable[[Done], None] = lambda _: None,
    ) -> Iterator[Finished]:
        """Run jobs and yield each job after its end, in the order of `jobs`.

        Jobs whose check is `alone` wait until all jobs before them have been yielded, and run by themselves.

        Args:
            stop: returns True to stop; the remaining jobs are not yielded.
            note: called with each finished task.
        """
        waiting = [(job, self._tasks(job)) for job in jobs]
        for _ in self._done([tasks for job, tasks in waiting if not job.check.alone], stop, note):
            while waiting and not waiting[0][0].check.alone and self._ended(waiting[0][1]):
                yield self._finish(*waiting.pop(0))
        while waiting and not stop():
            job, tasks = waiting[0]
            for _ in self._done([tasks], stop, note, alone=job.check.alone):
                pass
            if not self._ended(tasks):
                return
            waiting.pop(0)
            yield self._finish(job, tasks)

    def _tasks(self, job: Job) -> tuple[Task, ...]:
        return job.source.tasks(job.check.name)

    def _done(
        self,
        groups: Sequence[tuple[Task, ...]],
        stop: Stop,
        note: Callable[[Done], None],
        *,
        alone: bool = False,
    ) -> Iterator[None]:
        """Run the tasks without a result; yield once at the start, then after each task."""
        yield
        missing = {task.key: task for tasks in groups for task in tasks if not self._ended((task,))}
        if not missing:
            return
        count = 1 if alone else min(self._processes, len(missing))
        with closing(self._executors(count)) as executor:
            # Runs without a failure come first: a run whose failure is later than their end can be skipped.
            healthy = [task for task in missing.values() if not _fails(task)]
            for done in carry_out(healthy, self._kept, executor, stop):
                self._note(done, note)
                yield
            runs = [task.run for some in groups for task in some if isinstance(task, work.RunTask)]
            for run in late_runs(runs, self._kept):
                self._lost.setdefault(run.key, "")
            rest = [task for task in missing.values() if not self._ended((task,))]
            for done in carry_out(rest, self._kept, executor, stop):
                self._note(done, note)
                yield

    def _note(self, done: Done, note: Callable[[Done], None]) -> None:
        if done.lost:
            self._lost[done.run.key] = done.lost
        note(done)

    def _ended(self, tasks: Sequence[Task]) -> bool:
        return all(task.key in self._lost or self._kept.get(task.key) is not None for task in tasks)

    def _finish(self, job: Job, tasks: Sequence[Task]) -> Finished:
        for task in tasks:
            if words := self._lost.get(task.key):
                return Finished(job, None, trouble=words)
        contents = {task.key: content for task in tasks if (content := self._kept.get(task.key)) is not None}
        picture = next((content["picture"] for content in contents.values() if content.get("picture")), "")
        try:
            figures = job.source.figures(contents)
            if isinstance(job.source, ScenarioSource):
                picture = job.source.drawing(figures)
            return Finished(job, figures, picture)
        except RailyardError as ex:
            return Finished(job, None, trouble=str(ex))


def rows_of(check: Check) -> tuple[Row, ...]:
    """Compute a check in this process and return its rows."""
    (finished,) = Runner(FigureStore(), local()).finished([Job.of(check)])
    return finished.rows


def _fails(task: Task) -> bool:
    return isinstance(task, work.RunTask) and task.run.case is not None and bool(task.run.case.targets)
