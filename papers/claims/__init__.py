# SPDX-License-Identifier: Apache-2.0
"""Claims of papers beside measured or computed figures: `railyard experiments` prints the table.

A claim is a check that computes or measures anew when it is asked, and reports findings. `claims` gathers
the claims of a paper from the modules of `papers.<paper>.claims`; each module exports `CLAIMS` and
imports what
its checks need when they run, so that listing claims builds nothing. `figures` makes findings of closed
formulas, `runs` runs the experiments' scenarios, `model_figure` is a model's figure beside the paper's.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Literal, final

__all__ = ["PAPERS", "Claim", "Finding", "Progress", "Verdict", "claims", "passed", "to_document"]

Verdict = Literal["holds", "differs", "not judged"]

# Called by a check with what it is doing and which share of its work is done, 0 to 1.
Progress = Callable[[str, float], None]

PAPERS: Mapping[str, str] = {
    "ub-mesh": "UB-Mesh: a Hierarchically Localized nD-FullMesh Datacenter Network Architecture (2503.20377)",
    "rail-only": "Rail-only: a Low-Cost High-Performance Network for Training LLMs with Trillion Parameters"
    " (2307.12169)",
    "hpn": "Alibaba HPN: A Data Center Network for Large Language Model Training (SIGCOMM 2024)",
    "lumoscore": "LumosCore: Highly Scalable LLM Clusters with Optical Interconnect (2411.01503)",
    "crux": "Crux: GPU-Efficient Communication Scheduling for Deep Learning Training (SIGCOMM 2024)",
}


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of a check, in words for a reader.

    `source` says whose figure `paper` is: the paper's, with its section, "derived here" where it follows from
    what the paper says, or "recalled" where it was not seen in the text. `known`: it differs, `reason` says
    why, and that is where matters stand; any other difference is a failure.
    """

    claim: str
    source: str
    paper: str
    ours: str
    verdict: Verdict
    reason: str = ""
    known: bool = False

    @property
    def fails(self) -> bool:
        return self.verdict == "differs" and not self.known


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """A check of `paper`, asked for by its slug `name`.

    `long`: it takes minutes, and is run when asked for. `picture` draws it as SVG, once `run` has come back.
    """

    name: str
    paper: str
    title: str
    run: Callable[[Progress], Sequence[Finding]]
    long: bool = False
    picture: Callable[[], str] | None = None


def claims(paper: str) -> tuple[Claim, ...]:
    """Return the claims of a paper of `PAPERS`, module by module; KeyError for an unknown paper."""
    if paper not in PAPERS:
        raise KeyError(paper)
    package = import_module(f"papers.{paper.replace('-', '_')}.claims")
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(claim for name in modules for claim in import_module(f"{package.__name__}.{name}").CLAIMS)


def passed(findings: Mapping[str, Sequence[Finding]]) -> bool:
    """Return whether every finding holds or is a known difference."""
    return not any(finding.fails for some in findings.values() for finding in some)


def to_document(
    paper: str, run: Sequence[Claim], findings: Mapping[str, Sequence[Finding]], left_out: Sequence[Claim]
) -> dict[str, Any]:
    """Return the contents of `experiments.json`: findings by claim, and the claims that were not run."""
    return {
        "paper": paper,
        "title": PAPERS[paper],
        "passed": passed(findings),
        "claims": [
            {
                "name": claim.name,
                "title": claim.title,
                "findings": [asdict(finding) for finding in findings[claim.name]],
            }
            for claim in run
        ],
        "not_run": [claim.name for claim in left_out],
    }
