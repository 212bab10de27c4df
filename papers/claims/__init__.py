# SPDX-License-Identifier: Apache-2.0
"""Claims of papers beside measured or computed figures: `railyard experiments` prints the table.

A `Claim` is declared as data: the paper's figure and its place, its kind, the interval in which it holds,
for a known difference the interval in which ours is expected, and a mutation that must turn the verdict. A
`Check` measures the values of its claims when asked. Each module of `papers.<paper>.claims` exports `CHECKS`
and builds nothing when it is imported, so that listing checks is quick.

    claim.py        claim, kind, interval, mutation; the verdict, a pure function of a claim and a value
    declare.py      constructors of claims by kind, of intervals and of mutations
    check.py        check, row of the table, counts by kind
    statistics.py   median over seeds and its bootstrap interval
    mutations.py    each mutation applied: the verdict has to turn
    store.py        values of finished checks, read back by the next call
    document.py     experiments.json
    page.py         experiments.html: the table with plots, filtered by kind
    runs.py         scenarios of the experiments, run for claims
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from papers.claims.check import Check, Progress, Row, Values, counts, headline, passed
from papers.claims.claim import (
    Claim,
    Interval,
    Kind,
    Measured,
    Mutation,
    Verdict,
    verdict,
)
from papers.claims.statistics import over_seeds

__all__ = [
    "PAPERS",
    "Check",
    "Claim",
    "Interval",
    "Kind",
    "Measured",
    "Mutation",
    "Progress",
    "Row",
    "Values",
    "Verdict",
    "checks",
    "counts",
    "headline",
    "over_seeds",
    "passed",
    "verdict",
]

PAPERS: Mapping[str, str] = {
    "ub-mesh": "UB-Mesh: a Hierarchically Localized nD-FullMesh Datacenter Network Architecture (2503.20377)",
    "rail-only": "Rail-only: a Low-Cost High-Performance Network for Training LLMs with Trillion Parameters"
    " (2307.12169)",
    "hpn": "Alibaba HPN: A Data Center Network for Large Language Model Training (SIGCOMM 2024)",
    "lumoscore": "LumosCore: Highly Scalable LLM Clusters with Optical Interconnect (2411.01503)",
    "crux": "Crux: GPU-Efficient Communication Scheduling for Deep Learning Training (SIGCOMM 2024)",
}


def checks(paper: str) -> tuple[Check, ...]:
    """Return the checks of a paper of `PAPERS`, module by module; KeyError for an unknown paper."""
    if paper not in PAPERS:
        raise KeyError(paper)
    package = import_module(f"papers.{paper.replace('-', '_')}.claims")
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(check for name in modules for check in import_module(f"{package.__name__}.{name}").CHECKS)
