# SPDX-License-Identifier: Apache-2.0
"""Findings: rows whose check judges itself, of papers whose figures are not yet declared as claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

from papers.claims.check import Progress, Row
from papers.claims.claim import ANY, Claim, Kind, Measured, Verdict

__all__ = ["Finding", "FindingVerdict", "FindingsCheck"]

FindingVerdict = Literal["holds", "differs", "not judged"]


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a check, in words for a reader.

    `source` says whose figure `paper` is: the paper's, with its section, "derived here" where it follows from
    what the paper says, or "recalled" where it was not seen in the text. `known`: it differs, `reason` says
    why; any other difference is unexpected.
    """

    claim: str
    source: str
    paper: str
    ours: str
    verdict: FindingVerdict
    reason: str = ""
    known: bool = False

    @property
    def fails(self) -> bool:
        return self.verdict == "differs" and not self.known

    @property
    def row(self) -> Row:
        """The finding as a row of the table: without numbers, without an interval."""
        kind = Kind.derived if self.source.startswith(("derived", "our target")) else Kind.stated
        kind = Kind.recalled if "recalled" in self.source else kind
        kind = Kind.fitted if "(fitted)" in self.ours else kind
        claim = Claim(
            name="",
            text=self.claim,
            place=self.source,
            kind=kind,
            holds=ANY,
            mutation=None,
            paper=self.paper,
            reason=self.reason,
        )
        words: dict[str, Verdict] = {"holds": "holds", "not judged": "not judged"}
        judged = words.get(self.verdict, "known difference" if self.known else "unexpected")
        return Row(claim, Measured(float("nan"), detail=self.ours), judged)


@final
@dataclass(frozen=True, slots=True)
class FindingsCheck:
    """A check whose `run` reports findings; it declares no claims."""

    name: str
    paper: str
    title: str
    run: Callable[[Progress], Sequence[Finding]]
    long: bool = False
    picture: Callable[[], str] | None = None
    claims: tuple[Claim, ...] = ()

    def rows(self, note: Progress) -> tuple[Row, ...]:
        """Run the check; a row for each finding."""
        return tuple(finding.row for finding in self.run(note))
