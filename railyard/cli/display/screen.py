# SPDX-License-Identifier: Apache-2.0
"""Output of the verbs: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from topologies.errors import RailyardError

if TYPE_CHECKING:  # the command starts faster without the runner
    from harness.run.runner import Pace

__all__ = ["INPUT", "MACHINE", "complain", "counting", "exit_code", "out", "progress", "say", "tell"]

INPUT = 2
"""Exit code for an error in the input."""

MACHINE = 3
"""Exit code for an error of the machine, such as missing memory or rights."""

# Width of output that does not go to a terminal, unless COLUMNS sets it.
_WIDTH = 160

# Longest time in seconds between two lines of progress if the output is not a terminal.
_SILENCE = 30.0

# Age of a stage, in seconds, from which its rate is shown; completed share from which the time left is shown.
_FIRST_SECONDS = 0.5
_LEAST_SHARE = 0.01

_err = Console(stderr=True, highlight=False)


def out() -> Console:
    """Return the console for results, as wide as the terminal or COLUMNS, else 160 columns."""
    console = Console(highlight=False)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(highlight=False, width=_WIDTH)


def exit_code(error: RailyardError) -> int:
    """Return the exit code for an error: MACHINE for an error of the machine, else INPUT."""
    return MACHINE if error.of_machine else INPUT


def say(*lines: str | Text) -> None:
    """Print lines of a verb's result on standard output; no line is broken, and brackets stay as they are."""
    console = out()
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def tell(message: str) -> None:
    """Print a message about the progress of a command on standard error."""
    _err.print(message, markup=False, soft_wrap=True)


def complain(message: str) -> None:
    """Print an error message on standard error."""
    _err.print("[bold red]error:[/]", end=" ")
    _err.print(message, markup=False, soft_wrap=True)


@contextmanager
def counting(total: int, what: str) -> Iterator[Callable[[], None]]:
    """Show the progress of `total` items and the time left; yield a function to call after each item.

    On a terminal, progress is a bar with the text `what`. Otherwise it is a line at every eighth of the
    items, and at least every half minute.
    """
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.completed:g} of {task.total:g}"))
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    bar = Progress(*columns, *times, console=_err, transient=True, disable=not _err.is_terminal)
    with bar:
        task = bar.add_task(what, total=total)
        done = 0
        began = said = time.monotonic()

        def advance() -> None:
            nonlocal done, said
            done += 1
            bar.advance(task)
            now = time.monotonic()
            if not _err.is_terminal and (
                done * 8 // total > (done - 1) * 8 // total or now - said > _SILENCE
            ):
                said = now
                seconds = (now - began) / done * (total - done)
                left = f", about {_duration(seconds)} left" if seconds > 1 else ""
                _err.print(f"{what}: {done} of {total}{left}", markup=False)

        yield advance


def _duration(seconds: float) -> str:
    """Return a time in seconds as rounded text, such as `4 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class VariantProgress:
    """Progress of the variants of a run: a bar for the current variant on a terminal, else lines.

    Without a terminal, there is a line for each stage, and for each half minute of a stage. If the run
    reports its pace, bar and lines show the virtual time, packet-hops per second, and an estimate of the time
    left.
    """

    def __init__(
        self,
        bar: Progress,
        variants: list[str],
        console: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bar = bar
        self._console = console
        self._variants = variants
        self._clock = clock
        self._task = bar.add_task("starting", total=1.0, figures="")
        self._stage = ("", "")
        self._began = self._said = 0.0

    def __call__(self, variant: str, stage: str, share: float, pace: Pace | None = None) -> None:
        text = f"{self._variants.index(variant) + 1} of {len(self._variants)}, {variant}: {stage}"
        now = self._clock()
        began = self._stage != (variant, stage)
        if began:
            self._stage, self._began = (variant, stage), now
        figures = "" if pace is None else _figures(pace, share, now - self._began)
        self._bar.update(self._task, description=text, completed=share, figures=figures)
        if not self._console.is_terminal and (began or now - self._said > _SILENCE):
            self._said = now
            said = "" if began else f" {share:.0%}{', ' if figures else ''}{figures}"
            self._console.print(f"{text}{said}", markup=False)


def _figures(pace: Pace, share: float, seconds: float) -> str:
    """Return virtual time, packet-hops per second, and the time left at the present speed, as text."""
    figures = [f"{pace.now_ps / 10**6:.1f} µs"]
    if seconds > _FIRST_SECONDS:
        rate = pace.hops / seconds
        shown = f"{rate / 10**6:.2f} M" if rate >= 10**5 else f"{rate / 10**3:.1f} k"
        figures.append(f"{shown} packet-hops/s")
        if _LEAST_SHARE < share < 1:
            figures.append(f"about {_duration(seconds * (1 - share) / share)} left")
    return ", ".join(figures)


@contextmanager
def progress(
    variants: list[str], *, quiet: bool = False, terminal_only: bool = False
) -> Iterator[VariantProgress]:
    """Show the progress of variants; yield a function to call with variant, stage and completed share.

    With `quiet`, nothing is shown; with `terminal_only`, nothing without a terminal.
    """
    figures = TextColumn("{task.fields[figures]}")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), figures)
    quiet = quiet or (terminal_only and not _err.is_terminal)
    console = Console(stderr=True, quiet=True) if quiet else _err
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield VariantProgress(bar, variants, console)
