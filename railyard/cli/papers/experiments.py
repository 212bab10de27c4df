# SPDX-License-Identifier: Apache-2.0
"""railyard experiments: the claims of a paper beside figures computed or measured here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from railyard.cli.display.screen import out, progress
from railyard.cli.display.table import print_table

if TYPE_CHECKING:
    from harness.output import OutputFolder
    from papers.claims import Check, Row
    from papers.claims.store import KeptChecks

__all__ = ["EXAMPLES", "experiments"]

EXAMPLES = """
railyard experiments --list
railyard experiments --only cables --out results/cables
railyard experiments --paper hpn --kind stated
railyard experiments --paper ub-mesh --only parts --mutate
"""


class Paper(StrEnum):
    """Papers whose claims can be checked; the keys of `PAPERS`."""

    ub_mesh = "ub-mesh"
    rail_only = "rail-only"
    lumoscore = "lumoscore"
    crux = "crux"
    hpn = "hpn"


class KindChoice(StrEnum):
    """Kinds of claims; the values of `papers.claims.Kind`."""

    stated = "stated"
    derived = "derived"
    fitted = "fitted"
    identity = "identity"
    recalled = "recalled"


COLOURS = {"holds": "green", "known difference": "yellow", "unexpected": "bold red"}


def experiments(
    paper: Annotated[Paper, typer.Option(help="paper whose claims are checked")] = Paper.ub_mesh,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="check to run, however long it takes; see --list; may be repeated"),
    ] = None,
    kind: Annotated[
        list[KindChoice] | None, typer.Option(help="kind of claims to show; may be repeated")
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="also run checks that take minutes")] = False,
    mutate: Annotated[
        bool,
        typer.Option("--mutate", help="apply the mutation of each claim and check that its verdict changes"),
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="list the checks and run none")] = False,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results, else results/PAPER")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="keep checks that the folder has, or begin anew")
    ] = True,
) -> None:
    """Check the claims of a paper; print a table, write experiments.json and experiments.html.

    A row has the claim, the paper's figure and its place in the paper, the kind of the claim, the interval
    in which the claim holds, our figure and the verdict. This command computes our figure, or measures it on
    an emulated fabric; the interval was declared before.

    Kinds: stated (the paper prints the figure), derived (it follows from the paper, or is a target of this
    project), fitted (a parameter was chosen to agree), identity (both figures come from the same formula),
    recalled (remembered from the paper). The summary counts each kind separately.

    Verdicts: holds; known difference (ours lies in the interval of the difference, with the reason below the
    table); unexpected (ours lies in neither interval).

    Results are printed and written check by check. After Ctrl-C or a kill the same command goes on: checks
    that the folder has from the same program are read back.

    Exit code 1: a verdict is unexpected, or with --mutate a mutation changes no verdict.
    """
    from papers.claims import checks

    known = checks(paper.value)
    if listing:
        _list(known)
        return
    kinds = [item.value for item in kind or ()]
    chosen = _chosen(known, only or (), long, kinds)
    if mutate:
        raise typer.Exit(0 if _mutate(chosen) else 1)
    good = _run(paper.value, known, chosen, kinds, folder or Path("results", paper.value), resume=resume)
    left_out = [check for check in known if check.long and check not in chosen]
    if left_out and not only:
        names = ", ".join(check.name for check in left_out)
        out().print(f"not run, add --long: {names}", markup=False, soft_wrap=True)
    raise typer.Exit(0 if good else 1)


def _chosen(known: Sequence[Check], only: Sequence[str], long: bool, kinds: Sequence[str]) -> list[Check]:
    names = [check.name for check in known]
    for name in only:
        if name not in names:
            close = get_close_matches(name, names, n=3)
            remedy = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(names)}"
            raise typer.BadParameter(f"no check named {name!r}; {remedy}", param_hint="--only")
    chosen = [check for check in known if (check.name in only if only else long or not check.long)]
    if not kinds:
        return chosen
    return [check for check in chosen if any(claim.kind.value in kinds for claim in check.claims)]


def _run(
    paper: str,
    known: Sequence[Check],
    chosen: Sequence[Check],
    kinds: Sequence[str],
    folder: Path,
    *,
    resume: bool,
) -> bool:
    """Run the checks; print and write the rows of each as it ends; return whether all passed."""
    from harness.output import output_folder
    from papers.claims import PAPERS, headline, passed
    from papers.claims.store import KeptChecks

    console = out()
    done: dict[str, Sequence[Row]] = {}
    notes: list[str] = []
    written: dict[str, Path] = {}
    console.print(PAPERS[paper], style="bold", highlight=False)
    with output_folder(folder) as target:
        kept = KeptChecks(target, resume=resume)
        before = [check.name for check in chosen if kept.rows(check) is not None]
        if before:
            console.print(f"read back: {', '.join(before)}", markup=False, soft_wrap=True)
        try:
            for number, check in enumerate(chosen, 1):
                rows = kept.rows(check)
                if rows is None:
                    rows = _rows([item.name for item in chosen], check)
                    kept.put(check, rows)
                done[check.name] = [row for row in rows if not kinds or row.claim.kind.value in kinds]
                _print(check, done[check.name], notes)
                _write(target, paper, known, done, written, kept, finished=number == len(chosen))
        except (KeyboardInterrupt, SystemExit):
            console.print(f"stopped: {len(done)} of {len(chosen)} checks are done", markup=False)
            _say(written)
            raise
    for number, reason in enumerate(notes, 1):
        console.print(f"({number}) {reason}", markup=False, soft_wrap=True)
    every = [row for rows in done.values() for row in rows]
    for line in headline(every):
        console.print(line, markup=False, soft_wrap=True)
    _say(written)
    return passed(every)


def _rows(names: list[str], check: Check) -> tuple[Row, ...]:
    """Return the rows of a check; if it cannot be run, each of its claims is unexpected."""
    from papers.claims import Row
    from topologies.errors import RailyardError

    with progress(names) as note:
        note(check.name, "starting", 0.0)
        try:
            return check.rows(lambda stage, share: note(check.name, stage, share))
        except RailyardError as ex:
            return tuple(Row(claim, None, "unexpected", str(ex)) for claim in check.claims)


def _write(
    target: OutputFolder,
    paper: str,
    known: Sequence[Check],
    done: dict[str, Sequence[Row]],
    written: dict[str, Path],
    kept: KeptChecks,
    *,
    finished: bool,
) -> None:
    """Write the results so far; `written` gets each file's path by its name."""
    from papers.claims import PAPERS
    from papers.claims.document import to_document
    from papers.claims.page import experiments_html

    last = next(check for check in known if check.name == list(done)[-1])
    if picture := kept.picture(last):
        name = f"{last.name}.svg"
        written[name] = target.write(name, picture + "\n")
    pictures = {
        name: path.read_text(encoding="utf-8") for name, path in written.items() if path.suffix == ".svg"
    }
    document = to_document(paper, PAPERS[paper], done, known, finished=finished)
    written["experiments.json"] = target.write(
        "experiments.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    )
    page = experiments_html(PAPERS[paper], done, known, pictures, finished=finished)
    written["experiments.html"] = target.write("experiments.html", page)


def _say(written: dict[str, Path]) -> None:
    for path in written.values():
        out().print(f"written: {path}", markup=False, soft_wrap=True)


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
    """Print the rows of a check; reasons of rows that do not hold are numbered in `notes`."""
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


def _mutate(chosen: Sequence[Check]) -> bool:
    """Print every mutation with the verdict that it gives; return whether each turns one."""
    from papers.claims.claim import number
    from papers.claims.mutations import mutated

    good, total = 0, 0
    for check in chosen:
        with progress([item.name for item in chosen]) as note:
            note(check.name, "starting", 0.0)
            turns = mutated(check, lambda stage, share, name=check.name: note(name, stage, share))
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
            cells = (claim.text, accepted, values[0], claim.mutation.what, values[1])
            colour = "green" if turn.turned else "bold red"
            rows.append((*map(escape, cells), f"[{colour}]{'turns' if turn.turned else 'does not turn'}[/]"))
        good, total = good + sum(turn.turned for turn in turns), total + len(turns)
        headings = ("claim", "accepted", "ours", "mutation", "mutated", "verdict")
        print_table(out(), headings, rows, title=f"{check.name}: {check.title}")
    out().print(f"{good} of {total} mutations turn the verdict of their claim", markup=False)
    return good == total
