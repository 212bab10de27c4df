# SPDX-License-Identifier: Apache-2.0
"""Executors of tasks, such as runs of a study, in this process or in processes of this machine.

The process pools of the standard library give up all tasks when a process is killed. Here each process has a
pipe of its own, so the death of a process affects only its own task.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Protocol, Self, TypeAlias, final

from topologies.errors import RailyardError

__all__ = ["Done", "Executor", "InProcess", "LocalPool", "Stop", "Task", "Work"]

TRIES = 2
"""Number of times that a task is tried if its process dies."""

_SECONDS = 0.5

Stop = Callable[[], bool]
"""Function that returns True when no further task shall begin."""

Work: TypeAlias = Callable[[Any], str]
"""Function that carries out a task and returns the text of its result file; it must be picklable."""


class Task(Protocol):
    """A task, such as a run of a study; it must be picklable."""

    @property
    def key(self) -> str:
        """Hash of all inputs of the task, under which its result is stored."""
        ...

    @property
    def name(self) -> str:
        """Description of the task for users."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Done:
    """An ended task: the text of its result file, or in `lost` the reason why there is no result.

    A `late` task is left out: a run whose faults would all come after the end of the healthy run.
    """

    run: Task
    text: str = ""
    lost: str = ""
    late: bool = False


class Executor(Protocol):
    """Executor of tasks: in this process, in processes of this machine, or on a Ray cluster."""

    def results(self, runs: Sequence[Task], stop: Stop) -> Iterator[Done]:
        """Run the tasks `runs`; yield each when it ends. Once `stop()` is True, no further task begins."""
        ...

    def close(self) -> None:
        """End all processes immediately, without waiting for their tasks."""
        ...


@final
class InProcess:
    """Executor in this process, one task after the other."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def results(self, runs: Sequence[Task], stop: Stop) -> Iterator[Done]:
        """Run the tasks `runs` in order, and yield each when it ends, until `stop()` is True."""
        for run in runs:
            if stop():
                return
            yield Done(run, self._work(run))

    def close(self) -> None:
        """Do nothing, because this executor starts no process."""


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module, so that a spawned process does not run the caller's script again.

    Tasks do not need it, because they name their code by file or entry point.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@final
class _Worker:
    """A worker process with its pipe; `run` is its current task, None if it is idle."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.run: Task | None = None
        self.process: BaseProcess = context.Process(target=_serve, args=(other, work), daemon=True)
        with _without_main():
            self.process.start()
        other.close()

    def begin(self, run: Task) -> bool:
        """Send a task to the process; return False if the process has died."""
        try:
            self.pipe.send(run)
        except OSError:
            return False
        self.run = run
        return True

    def end(self) -> str:
        """Kill the process, and return a description of its end, such as `killed by SIGKILL`."""
        if self.process.is_alive():
            self.process.join(_SECONDS)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


@final
class LocalPool:
    """Executor in at most `jobs` processes of this machine, which call `work` and live until `close`."""

    def __init__(self, work: Work, jobs: int) -> None:
        self._work = work
        self._jobs = jobs
        self._workers: list[_Worker] = []

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the worker processes."""
        return tuple(worker.process.pid or 0 for worker in self._workers)

    def results(self, runs: Sequence[Task], stop: Stop) -> Iterator[Done]:
        """Yield each task when it ends; a task whose process dies is repeated once in another process."""
        waiting = deque(runs)
        tries: dict[str, int] = {}
        while True:
            if stop():
                waiting.clear()
            self._begin(waiting)
            busy = {worker.pipe: worker for worker in self._workers if worker.run is not None}
            if not busy:
                return
            for pipe in wait([*busy], timeout=_SECONDS):
                worker = busy[pipe]  # type: ignore[index]
                run = worker.run
                assert run is not None
                worker.run = None
                try:
                    answer = worker.pipe.recv()
                except (EOFError, OSError):
                    self._workers.remove(worker)
                    how = worker.end()
                    tries[run.key] = tries.get(run.key, 0) + 1
                    if tries[run.key] < TRIES and not stop():
                        waiting.appendleft(run)
                    else:
                        yield Done(run, lost=f"its process was lost {tries[run.key]} times: {how}")
                else:
                    yield Done(run, *answer)

    def close(self) -> None:
        """Kill all processes."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, waiting: deque[Task]) -> None:
        """Give waiting tasks to idle processes, and start further processes up to the number of jobs."""
        while waiting:
            idle = next((worker for worker in self._workers if worker.run is None), None)
            if idle is None:
                if len(self._workers) >= self._jobs:
                    return
                idle = _Worker(self._work)
                self._workers.append(idle)
            if idle.begin(waiting[0]):
                waiting.popleft()
            else:
                self._workers.remove(idle)
                idle.end()


def _serve(pipe: Connection, work: Work) -> None:
    """Carry out tasks from the pipe in a worker process, until the pipe closes or the parent process dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            run = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = work(run), ""
        except RailyardError as ex:
            answer = "", str(ex)
        except MemoryError:
            answer = "", "this machine has no memory left; use fewer --jobs"
        except Exception:
            answer = "", traceback.format_exc()
        try:
            pipe.send(answer)
        except OSError:
            return


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
