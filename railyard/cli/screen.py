"""What the verbs print: progress on standard error, results on standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["complain", "counting", "out", "progress"]

# Without a terminal there is no width to keep to: whoever reads the output wants whole lines.
_err = Console(stderr=True, highlight=False)


def out() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def complain(message: str) -> None:
    _err.print("[bold red]error:[/]", end=" ")
    _err.print(message, markup=False, soft_wrap=True)


@contextmanager
def counting(total: int, what: str) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, else a line at every eighth; what it yields is called once for each thing done."""
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.completed:g} of {task.total:g}"))
    bar = Progress(*columns, TimeElapsedColumn(), console=_err, transient=True, disable=not _err.is_terminal)
    with bar:
        task = bar.add_task(what, total=total)
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            bar.advance(task)
            if not _err.is_terminal and done * 8 // total > (done - 1) * 8 // total:
                _err.print(f"{what}: {done} of {total}", markup=False)

        yield advance


class VariantProgress:
    """A line for the variant at hand on a terminal; else one line a stage, for a log."""

    def __init__(self, bar: Progress, variants: list[str]) -> None:
        self._bar = bar
        self._variants = variants
        self._task = bar.add_task("starting", total=1.0)
        self._said = ("", "")

    def __call__(self, variant: str, stage: str, share: float) -> None:
        text = f"{self._variants.index(variant) + 1} of {len(self._variants)}, {variant}: {stage}"
        self._bar.update(self._task, description=text, completed=share)
        if self._said != (variant, stage) and not _err.is_terminal:
            _err.print(text, markup=False)
        self._said = variant, stage


@contextmanager
def progress(variants: list[str]) -> Iterator[VariantProgress]:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_err, transient=True, disable=not _err.is_terminal) as bar:
        yield VariantProgress(bar, variants)
