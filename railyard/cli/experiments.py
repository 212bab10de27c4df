# SPDX-License-Identifier: Apache-2.0
"""railyard experiments: what a paper says, beside what comes out here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from railyard.cli.screen import out, progress

if TYPE_CHECKING:
    from rich.console import Console

    from papers.claims import Claim, Finding

__all__ = ["experiments"]


class Paper(StrEnum):
    """Papers whose claims there are; the keys of `PAPERS`."""

    ub_mesh = "ub-mesh"
    rail_only = "rail-only"
    lumoscore = "lumoscore"
    crux = "crux"
    hpn = "hpn"


COLOURS = {"holds": "green", "differs": "red", "not judged": "yellow"}


def experiments(
    paper: Annotated[Paper, typer.Option(help="whose claims")] = Paper.ub_mesh,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="a claim to check, see --list; may be repeated")
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="also the claims that take minutes")] = False,
    listing: Annotated[bool, typer.Option("--list", help="list the claims and check none")] = False,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results, else results/PAPER")
    ] = None,
) -> None:
    """Check what a paper claims; print the table, write experiments.json.

    Each row: claim, the paper's figure, whose it is, ours, verdict.
    Ours is computed, or measured on an emulated fabric, by this command.

    A claim holds, differs, or is not judged: the paper gives no figure,
    or a parameter was fitted to it. What is known to differ says why.
    A claim named with --only is checked however long it takes.

    Exit code 1 when a claim differs that is not known to.
    """
    from lab.report.output import output_folder
    from papers.claims import claims, passed, to_document

    known = claims(paper.value)
    if listing:
        out().print(_listing(known))
        return
    chosen = _chosen(known, only or (), long)
    left_out = [claim for claim in known if claim not in chosen]
    with output_folder(folder or Path("results", paper.value)) as target:
        findings = _check(chosen)
        document = to_document(paper.value, chosen, findings, left_out)
        written = [
            target.write("experiments.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        ]
        written += [
            target.write(f"{claim.name}.svg", claim.picture() + "\n")
            for claim in chosen
            if claim.picture is not None
        ]
    console = out()
    _print(console, paper.value, chosen, findings)
    if left_out and not only:
        names = ", ".join(claim.name for claim in left_out)
        console.print(f"not run, add --long: {names}", markup=False, soft_wrap=True)
    for path in written:
        console.print(f"written: {path}", markup=False, soft_wrap=True)
    raise typer.Exit(0 if passed(findings) else 1)


def _chosen(known: Sequence[Claim], only: Sequence[str], long: bool) -> list[Claim]:
    names = [claim.name for claim in known]
    for name in only:
        if name not in names:
            close = get_close_matches(name, names, n=3)
            remedy = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(names)}"
            raise typer.BadParameter(f"no claim named {name!r}; {remedy}", param_hint="--only")
    if only:
        return [claim for claim in known if claim.name in only]
    return [claim for claim in known if long or not claim.long]


def _check(chosen: Sequence[Claim]) -> dict[str, Sequence[Finding]]:
    """Findings by claim. One that cannot be checked differs, and hides none of the others."""
    from papers.claims import Finding
    from topologies.errors import RailyardError

    findings: dict[str, Sequence[Finding]] = {}
    with progress([claim.name for claim in chosen]) as note:
        for claim in chosen:
            note(claim.name, "starting", 0.0)
            try:
                findings[claim.name] = claim.run(
                    lambda stage, share, name=claim.name: note(name, stage, share)
                )
            except RailyardError as ex:
                findings[claim.name] = [
                    Finding(claim.title, "", "-", "could not be checked", "differs", str(ex))
                ]
    return findings


def _listing(known: Sequence[Claim]) -> Table:
    table = Table("claim", "", "what is checked", box=None, pad_edge=False)
    table.caption = "long: takes minutes, checked with --long or --only"
    for claim in known:
        table.add_row(escape(claim.name), "long" if claim.long else "", escape(claim.title))
    return table


def _print(
    console: Console, paper: str, chosen: Sequence[Claim], findings: Mapping[str, Sequence[Finding]]
) -> None:
    from papers.claims import PAPERS

    columns = (
        Column("claim", ratio=5),
        Column("paper", ratio=2),
        Column("whose", ratio=4),
        Column("ours", ratio=4),
        Column("verdict", ratio=2),
    )
    table = Table(*columns, title=escape(PAPERS[paper]), expand=True)
    notes: list[str] = []
    for claim in chosen:
        table.add_section()
        table.add_row(f"[bold]{escape(claim.name)}[/]: {escape(claim.title)}")
        for one in findings[claim.name]:
            mark = ""
            if one.reason and one.verdict != "holds":
                if one.reason not in notes:
                    notes.append(one.reason)
                mark = f" ({notes.index(one.reason) + 1})"
            verdict = f"[{COLOURS[one.verdict]}]{one.verdict}[/]{mark}"
            table.add_row(*map(escape, (one.claim, one.paper, one.source, one.ours)), verdict)
    console.print(table)
    for number, reason in enumerate(notes, 1):
        console.print(f"({number}) {reason}", markup=False, soft_wrap=True)
    every = [finding for some in findings.values() for finding in some]
    counts = {verdict: sum(one.verdict == verdict for one in every) for verdict in COLOURS}
    unexpected = sum(one.fails for one in every)
    console.print(
        f"{counts['holds']} hold, {counts['differs']} differ ({unexpected} of them unexpectedly), "
        f"{counts['not judged']} not judged"
    )
