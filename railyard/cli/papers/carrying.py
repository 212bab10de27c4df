# SPDX-License-Identifier: Apache-2.0
"""Progress and result files of `railyard experiments`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.cli.display.screen import progress, say

if TYPE_CHECKING:
    from harness.output import OutputFolder
    from papers.claims import Check, ClaimFile, FigureStore, Finished, Row, Runner

__all__ = ["runner_of", "say_written", "write_results"]


@contextmanager
def runner_of(
    kept: FigureStore, checks: Sequence[Check], jobs: int, ray: str | None
) -> Iterator[tuple[Runner, Callable[[object], None]]]:
    """Yield a runner for the checks, and a function to call at the end of each task.

    `kept` has figures computed before. `ray` is the address of a Ray cluster, `local` for a cluster on this
    machine, None for no cluster.
    """
    from papers.claims import Runner, local
    from papers.claims.figures.tasks import carry_out

    names = [check.name for check in checks]
    with progress(names) as show:

        def note(task: str, stage: str, share: float) -> None:
            show(task.partition(",")[0], stage, share)

        def ended(done: object) -> None:
            task: str = done.run.name  # type: ignore[attr-defined]
            show(task.partition(",")[0], f"{task.partition(',')[2].strip() or 'figures'} done", 1.0)

        if ray is None:
            yield Runner(kept, local(note), jobs), ended if jobs > 1 else lambda _: None
        else:
            from harness.sweeps.cluster import RayCluster

            address = None if ray == "local" else ray
            yield Runner(kept, lambda _: RayCluster(carry_out, address), jobs), ended


def write_results(
    target: OutputFolder,
    file: ClaimFile,
    last: Finished,
    done: dict[str, Sequence[Row]],
    written: dict[str, Path],
    *,
    complete: bool,
) -> None:
    """Write experiments.json, experiments.html and the picture of the last check, for the results so far.

    `last` is the check that has just ended, `done` has the rows of all checks that have ended, by name.
    `written` receives the path of each file, by the file's name. With `complete`, all checks have ended.
    """
    from papers.claims.document import to_document
    from papers.claims.page import experiments_html

    if last.picture:
        name = f"{last.check.name}.svg"
        written[name] = target.write(name, last.picture + "\n")
    pictures = {
        name: path.read_text(encoding="utf-8") for name, path in written.items() if path.suffix == ".svg"
    }
    document = to_document(file, done, finished=complete)
    written["experiments.json"] = target.write(
        "experiments.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    )
    page = experiments_html(file, done, pictures, finished=complete)
    written["experiments.html"] = target.write("experiments.html", page)


def say_written(written: dict[str, Path]) -> None:
    """Print the paths of the written files."""
    say(*(f"written: {path}" for path in written.values()))
