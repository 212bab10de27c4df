# SPDX-License-Identifier: Apache-2.0
"""Run the checks of a file of claims, in parallel; compute each figure once, also if a run is resumed.

checks -> tasks by key -> carry_out(tasks, stored figures, executor) -> rows, check by check in order
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, final

from harness.sweeps.conduct import carry_out
from harness.sweeps.worker_processes import Done, Executor, InProcess, LocalPool
from papers.claims.check import Check, Row, judged
from papers.claims.figures import tasks as work
from papers.claims.figures.sources import Figures, ScenarioSource
from papers.claims.figures.tasks import Note, Task
from papers.claims.store import FigureStore
from topologies.errors import RailyardError

__all__ = ["Finished", "Runner", "local", "rows_of"]

Executors: TypeAlias = Callable[[int], Executor]
"""Function that makes an executor for at most this number of processes."""


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """A finished check: its figures, or None and the reason in `trouble`."""

    check: Check
    figures: Figures | None
    picture: str = ""
    trouble: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Rows of the check's claims; without figures every verdict is "unexpected"."""
        if self.figures is None:
            return tuple(Row(claim, None, "unexpected", self.trouble) for claim in self.check.claims)
        return judged(self.check.claims, self.figures)


def local(note: Note | None = None) -> Executors:
    """Return a maker of executors on this machine: this process for 1 task at a time, else a process pool."""

    def make(jobs: int) -> Executor:
        if jobs <= 1:
            return InProcess(partial(work.carry_out, note=note))
        return LocalPool(work.carry_out, jobs)

    return make


@final
class Runner:
    """Runner of checks; it computes only figures that `kept` does not have.

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

    def has(self, check: Check) -> bool:
        """Return whether the figures of all tasks of a check are stored."""
        return all(self._kept.get(task.key) is not None for task in check.source.tasks(check.name))

    def finished(
        self, checks: Sequence[Check], note: Callable[[Done], None] = lambda _: None
    ) -> Iterator[Finished]:
        """Run checks and yield each check after its end, in order; `note` is called with each finished task.

        Checks that are `alone` wait until all checks before them have been yielded, and run by themselves.
        """
        waiting = [(check, check.source.tasks(check.name)) for check in checks]
        together = [task for check, tasks in waiting if not check.alone for task in tasks]
        for _ in self._done(together, note):
            while waiting and not waiting[0][0].alone and self._ended(waiting[0][1]):
                yield self._finish(*waiting.pop(0))
        for check, tasks in waiting:
            for _ in self._done(tasks, note, alone=check.alone):
                pass
            yield self._finish(check, tasks)

    def _done(
        self, tasks: Sequence[Task], note: Callable[[Done], None], *, alone: bool = False
    ) -> Iterator[None]:
        """Run the tasks without a result; yield once at the start, then after each task."""
        yield
        missing = {task.key for task in tasks if not self._ended((task,))}
        if not missing:
            return
        with closing(self._executors(1 if alone else min(self._processes, len(missing)))) as executor:
            some = [task for task in tasks if task.key not in self._lost]
            for done in carry_out(some, self._kept, executor):
                if done.lost or done.late:
                    self._lost[done.run.key] = done.lost
                if not done.late:
                    note(done)
                yield

    def _ended(self, tasks: Sequence[Task]) -> bool:
        return all(task.key in self._lost or self._kept.get(task.key) is not None for task in tasks)

    def _finish(self, check: Check, tasks: Sequence[Task]) -> Finished:
        for task in tasks:
            if words := self._lost.get(task.key):
                return Finished(check, None, trouble=words)
        contents = {task.key: content for task in tasks if (content := self._kept.get(task.key)) is not None}
        picture = next((content["picture"] for content in contents.values() if content.get("picture")), "")
        try:
            figures = check.source.figures(contents)
            if isinstance(check.source, ScenarioSource):
                picture = check.source.drawing(figures)
            return Finished(check, figures, picture)
        except RailyardError as ex:
            return Finished(check, None, trouble=str(ex))


def rows_of(check: Check) -> tuple[Row, ...]:
    """Compute a check in this process and return its rows."""
    (finished,) = Runner(FigureStore(), local()).finished([check])
    return finished.rows
