# SPDX-License-Identifier: Apache-2.0
"""railyard experiments BUNDLE: compute the claims of a bundle again, and compare the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from railyard.cli.display.screen import out, say
from railyard.cli.display.table import print_table
from railyard.cli.papers.carrying import runner_of, say_written, write_results

if TYPE_CHECKING:
    from papers.claims import Row
    from papers.claims.form.bundle import Compared

__all__ = ["replay"]


def replay(path: Path, folder: Path | None, jobs: int, ray: str | None) -> bool:
    """Run the checks of a bundle again, and print each row beside its value in the bundle.

    A row is equal to the bundle's row, within the interval that the claim accepts, or out of the interval.
    Return False if a row is out. `folder` is the folder of the results, `jobs` the number of processes, `ray`
    the address of a Ray cluster.
    """
    from tempfile import TemporaryDirectory

    from harness.output import output_folder
    from papers.claims import FigureStore, read_claims
    from papers.claims.form.bundle import compare, unpack

    counts = {"equal": 0, "within": 0, "out": 0}
    colours = {"equal": "green", "within": "yellow", "out": "bold red"}
    with TemporaryDirectory(prefix="railyard-bundle-") as temporary:
        file, about, before = unpack(path, Path(temporary))
        claims = read_claims(file)
        chosen = [check for check in claims.checks if check.name in about["checks"]]
        claims.examine(chosen)
        done: dict[str, Sequence[Row]] = {}
        written: dict[str, Path] = {}
        with (
            output_folder(folder or Path("results", f"{claims.name}-replay")) as target,
            runner_of(FigureStore(target, resume=False), chosen, jobs, ray) as (runner, ended),
        ):
            for finished in runner.finished(chosen, note=ended):
                check = finished.check
                done[check.name] = finished.rows
                write_results(target, claims, finished, done, written, complete=len(done) == len(chosen))
                rows = []
                for item in compare(check, finished.rows, before):
                    counts[item.outcome] += 1
                    rows.append(_compared(item, colours[item.outcome]))
                headings = ("claim", "accepted", "in the bundle", "here", "")
                print_table(out(), headings, rows, title=f"{check.name}: {check.title}")
    version = about["versions"]["railyard"]
    words = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    say(f"{path}: {words}; the bundle is from Railyard {version}")
    say_written(written)
    return not counts["out"]


def _compared(item: Compared, colour: str) -> tuple[str, ...]:
    from papers.claims.check import ours
    from papers.claims.claim import number

    claim = item.row.claim
    was = "-" if item.value is None else number(item.value, claim.unit)
    cells = (claim.text, claim.accepted.text(claim.unit), was, ours(item.row))
    return (*map(escape, cells), f"[{colour}]{item.outcome}[/]")
