# SPDX-License-Identifier: Apache-2.0
"""railyard experiments: the claims of a paper beside figures computed or measured here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from railyard.cli.display.screen import out, progress
from railyard.cli.display.table import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from papers.claims import Claim, Finding

__all__ = ["EXAMPLES", "experiments"]

EXAMPLES = """
railyard experiments --list
railyard experiments --only cables --out results/cables
railyard experiments --paper hpn
"""


class Paper(StrEnum):
    """Papers whose claims can be checked; the keys of `PAPERS`."""

    ub_mesh = "ub-mesh"
    rail_only = "rail-only"
    lumoscore = "lumoscore"
    crux = "crux"
    hpn = "hpn"


COLOURS = {"holds": "green", "differs": "red", "not judged": "yellow"}


def experiments(
    paper: Annotated[Paper, typer.Option(help="paper whose claims are checked")] = Paper.ub_mesh,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="claim to check, however long it takes; see --list; may be repeated"
        ),
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="also check claims that take minutes")] = False,
    listing: Annotated[bool, typer.Option("--list", help="list the claims and check none")] = False,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results, else results/PAPER")
    ] = None,
) -> None:
    """Check the claims of a paper; print a table and write experiments.json.

    A row holds the claim, the paper's figure and its place in the paper, our figure, and the verdict.
    Our figure is computed, or measured on an emulated fabric, by this command.

    A claim holds, differs, or is not judged: the paper gives no figure, or a parameter was fitted to it.
    A known difference has its reason below the table.

    Exit code 1: a claim differs for no known reason.
    """
    from lab.report.output import output_folder
    from papers.claims import claims, passed, to_document

    known = claims(paper.value)
    if listing:
        _list(known)
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
    """Return findings by claim; a claim that cannot be checked differs, and the rest is still checked."""
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


def _list(known: Sequence[Claim]) -> None:
    print_table(
        out(),
        ("claim", "", "what is checked"),
        [(escape(claim.name), "long" if claim.long else "", escape(claim.title)) for claim in known],
        names=("claim",),
        caption="long: takes minutes, checked with --long or --only",
    )


def _print(
    console: Console, paper: str, chosen: Sequence[Claim], findings: Mapping[str, Sequence[Finding]]
) -> None:
    from papers.claims import PAPERS

    notes: list[str] = []
    rows: list[tuple[str, ...]] = []
    for claim in chosen:
        rows.append((f"[bold]{escape(claim.name)}[/]: {escape(claim.title)}",))
        for finding in findings[claim.name]:
            mark = ""
            if finding.reason and finding.verdict != "holds":
                if finding.reason not in notes:
                    notes.append(finding.reason)
                mark = f" ({notes.index(finding.reason) + 1})"
            verdict = f"[{COLOURS[finding.verdict]}]{finding.verdict}[/]{mark}"
            cells = (finding.claim, finding.paper, finding.source, finding.ours)
            rows.append((*map(escape, cells), verdict))
    headings = ("claim", "paper", "whose", "ours", "verdict")
    print_table(console, headings, rows, title=PAPERS[paper])
    for number, reason in enumerate(notes, 1):
        console.print(f"({number}) {reason}", markup=False, soft_wrap=True)
    every = [finding for group in findings.values() for finding in group]
    counts = {verdict: sum(finding.verdict == verdict for finding in every) for verdict in COLOURS}
    unexpected = sum(finding.fails for finding in every)
    console.print(
        f"{counts['holds']} hold, {counts['differs']} differ ({unexpected} of them unexpectedly), "
        f"{counts['not judged']} not judged"
    )
