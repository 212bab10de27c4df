# SPDX-License-Identifier: Apache-2.0
"""railyard experiments: compare the claims of a paper or study with figures computed or measured here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from railyard.cli.display.screen import out, say
from railyard.cli.display.table import print_table
from railyard.cli.options import RayAddress, refuse
from railyard.cli.papers.carrying import runner_of, say_written, write_results
from railyard.cli.papers.replay import replay

if TYPE_CHECKING:
    from papers.claims import Check, ClaimFile, Row

__all__ = ["EXAMPLES", "experiments"]

EXAMPLES = """
railyard experiments --list
railyard experiments ub-mesh --only cables --out results/cables
railyard experiments hpn --kind stated --jobs 4
railyard experiments my-paper.yaml --mutate
"""


class KindChoice(StrEnum):
    """Values of `--kind`: the kinds of claims of `papers.claims.Kind`."""

    stated = "stated"
    derived = "derived"
    fitted = "fitted"
    identity = "identity"
    recalled = "recalled"


COLOURS = {"holds": "green", "known difference": "yellow", "unexpected": "bold red"}


def experiments(
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE]", help="file of claims, bundle, or name of a paper or experiment"),
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="check to run, also a long one; see --list; may be repeated"),
    ] = None,
    kind: Annotated[
        list[KindChoice] | None, typer.Option(help="kind of claims to show; may be repeated")
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="also run checks that take minutes")] = False,
    mutate: Annotated[
        bool,
        typer.Option("--mutate", help="apply the mutation of each claim, and check that its verdict changes"),
    ] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="list the checks of FILE, or without FILE all files; run nothing")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="print the JSON schema of a file of claims, for editors")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="number of processes")] = os.cpu_count() or 1,
    ray: RayAddress = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results; else results/NAME")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume/--no-resume", help="use figures that the folder has, or compute all again"),
    ] = True,
) -> None:
    """Check the claims of a paper or study; print a table, write experiments.json and experiments.html.

    A row has the claim, the paper's figure and its place in the paper, the kind of the claim, the interval
    in which the claim holds, our figure and the verdict. This command computes our figure, or measures it on
    an emulated fabric. The file of claims declares the interval in advance.

    Kinds: stated (the paper prints the figure), derived (it follows from the paper, or is a target of this
    project), fitted (a parameter was chosen to agree), identity (both figures come from the same formula),
    recalled (remembered from the paper). The summary counts each kind separately.

    Verdicts: holds; known difference (ours lies in the interval of the difference, with the reason below the
    table); unexpected (ours lies in neither interval).

    A figure that several claims use is computed once. Results are printed and written check by check. After
    Ctrl-C or a kill, the same command continues: it reads figures back that the folder has from an equal
    version of the code.

    The checks of a bundle from `railyard bundle FILE` are run again. A row is then `equal` to the row in the
    bundle, `within` the interval that the claim accepts, or `out` of it.

    Exit code 1: a verdict is unexpected, a row of a bundle is out, or with --mutate a mutation changes no
    verdict.
    """
    from papers.claims import claims_of, read_claims
    from papers.claims.form.bundle import is_claims

    if schema:
        from papers.claims.form.schema import json_schema

        typer.echo(json_schema(), nl=False)
        return
    if not file:
        _list_files()
        return
    if is_claims(path := claims_of(file)):
        raise typer.Exit(0 if replay(path, folder, jobs, ray) else 1)
    claims = read_claims(path)
    if listing:
        _list(claims.checks)
        return
    kinds = [item.value for item in kind or ()]
    chosen = _chosen(claims.checks, only or (), long, kinds)
    claims.examine(chosen)
    if mutate:
        raise typer.Exit(0 if _mutate(chosen, jobs, ray) else 1)
    good = _run(claims, chosen, kinds, folder or Path("results", claims.name), jobs, ray, resume=resume)
    left_out = [check for check in claims.checks if check.long and check not in chosen]
    if left_out and not only:
        names = ", ".join(check.name for check in left_out)
        say(f"not run, add --long: {names}")
    raise typer.Exit(0 if good else 1)


def _chosen(known: Sequence[Check], only: Sequence[str], long: bool, kinds: Sequence[str]) -> list[Check]:
    names = [check.name for check in known]
    for name in only:
        if name not in names:
            close = get_close_matches(name, names, n=3)
            remedy = f"did you mean {', '.join(close)}?" if close else f"choose among {', '.join(names)}"
            refuse("--only", f"there is no check named {name!r}; {remedy}")
    chosen = [check for check in known if (check.name in only if only else long or not check.long)]
    if not kinds:
        return chosen
    return [check for check in chosen if any(claim.kind.value in kinds for claim in check.claims)]


def _run(
    file: ClaimFile,
    chosen: Sequence[Check],
    kinds: Sequence[str],
    folder: Path,
    jobs: int,
    ray: str | None,
    *,
    resume: bool,
) -> bool:
    """Run the checks, print and write the rows of each check when it ends, and return whether all passed."""
    from harness.output import output_folder
    from papers.claims import FigureStore, headline, passed

    done: dict[str, Sequence[Row]] = {}
    notes: list[str] = []
    written: dict[str, Path] = {}
    out().print(file.title, style="bold", highlight=False, markup=False)
    with (
        output_folder(folder) as target,
        runner_of(FigureStore(target, resume=resume), chosen, jobs, ray) as (runner, ended),
    ):
        before = [check.name for check in chosen if runner.has(check)]
        if before:
            say(f"read back: {', '.join(before)}")
        try:
            for finished in runner.finished(chosen, note=ended):
                check, rows = finished.check, finished.rows
                done[check.name] = [row for row in rows if not kinds or row.claim.kind.value in kinds]
                _print(check, done[check.name], notes)
                write_results(target, file, finished, done, written, complete=len(done) == len(chosen))
        except (KeyboardInterrupt, SystemExit):
            say(f"stopped: {len(done)} of {len(chosen)} checks are done")
            say_written(written)
            raise
    say(*(f"({number}) {reason}" for number, reason in enumerate(notes, 1)))
    every = [row for rows in done.values() for row in rows]
    say(*headline(every))
    say_written(written)
    return passed(every)


def _list_files() -> None:
    from harness.scenario.document import title_of
    from papers.claims import named_claims

    print_table(
        out(),
        ("file", "what it is about"),
        [(escape(name), escape(title_of(path))) for name, path in named_claims().items()],
        names=("file",),
        caption="railyard experiments FILE; --list FILE shows its checks",
    )


def _list(known: Sequence[Check]) -> None:
    print_table(
        out(),
        ("check", "", "claims", "what is checked"),
        [
            (
                escape(check.name),
                "long" if check.long else "",
                str(len(check.claims)),
                escape(check.title),
            )
            for check in known
        ],
        names=("check",),
        numbers=("claims",),
        caption="long: takes minutes, run with --long or --only",
    )


def _print(check: Check, rows: Iterable[Row], notes: list[str]) -> None:
    """Print the rows of a check; reasons of rows that do not hold are added to `notes`, for footnotes."""
    from papers.claims.check import ours, says

    table: list[tuple[str, ...]] = []
    for row in rows:
        claim, mark = row.claim, ""
        if claim.reason and row.verdict != "holds":
            if claim.reason not in notes:
                notes.append(claim.reason)
            mark = f" ({notes.index(claim.reason) + 1})"
        judged = f"[{COLOURS[row.verdict]}]{row.verdict}[/]{mark}"
        cells = (
            claim.text,
            says(claim),
            claim.place,
            claim.kind.value,
            claim.accepted.text(claim.unit),
            ours(row),
        )
        table.append((*map(escape, cells), judged))
    if table:
        headings = ("claim", "paper", "place", "kind", "accepted", "ours", "verdict")
        print_table(out(), headings, table, title=f"{check.name}: {check.title}")


def _mutate(chosen: Sequence[Check], jobs: int, ray: str | None) -> bool:
    """Print each mutation and whether it changes the verdict of its claim; return whether all of them do."""
    from papers.claims import FigureStore
    from papers.claims.claim import number
    from papers.claims.mutations import mutated

    good, total = 0, 0
    with runner_of(FigureStore(), chosen, jobs, ray) as (runner, ended):
        for check, turns in mutated(chosen, runner, ended):
            rows = []
            for turn in turns:
                claim, measured = turn.row.claim, turn.row.measured
                assert claim.mutation is not None
                assert measured is not None
                values = (
                    number(measured.value, claim.unit),
                    "refused" if isnan(turn.value) else number(turn.value, claim.unit),
                )
                accepted = claim.accepted.text(claim.unit)
                cells = (claim.text, accepted, values[0], claim.mutation.words, values[1])
                colour = "green" if turn.turned else "bold red"
                words = "turns" if turn.turned else "does not turn"
                rows.append((*map(escape, cells), f"[{colour}]{words}[/]"))
            good, total = good + sum(turn.turned for turn in turns), total + len(turns)
            headings = ("claim", "accepted", "ours", "mutation", "mutated", "verdict")
            print_table(out(), headings, rows, title=f"{check.name}: {check.title}")
    say(f"{good} of {total} mutations turn the verdict of their claim")
    return good == total
