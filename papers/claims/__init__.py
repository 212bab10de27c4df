# SPDX-License-Identifier: Apache-2.0
"""Claims as data: files of claims, read, computed by the engine of sweeps, and judged.

A file of claims has checks; a check has a source of figures, a model or a scenario, and claims about its
figures. A claim has the paper's figure and its place, its kind, the interval in which it holds, for a known
difference the interval in which ours is expected, and a mutation that must turn the verdict.

    claim.py        claim, kind, interval, mutation; the verdict, a pure function of a claim and a value
    figures/        where figures come from, and how they are computed
    check.py        check, row of the table, counts by kind
    store.py        figures of finished tasks, read back by the next call
    runner.py       tasks carried out: each figure once, resumed, in parallel
    form/           the file: form, reader, catalogue, bundle
    mutations.py    each mutation applied: the verdict has to turn
    statistics.py   median over seeds and its bootstrap interval
    document.py     experiments.json
    page.py         experiments.html: the table with plots, filtered by kind
    runs.py         scenarios of the experiments, run by models
"""

from __future__ import annotations

from papers.claims.check import Check, Progress, Row, Values, counts, headline, judged, passed
from papers.claims.claim import (
    Claim,
    Interval,
    Kind,
    Measured,
    Mutation,
    Verdict,
    verdict,
)
from papers.claims.form.catalogue import claims_of, experiment_files, named_claims, paper_files
from papers.claims.form.reader import ClaimFile, read_claims
from papers.claims.runner import Finished, Job, Runner, local, rows_of
from papers.claims.statistics import over_seeds
from papers.claims.store import FigureStore

__all__ = [
    "Check",
    "Claim",
    "ClaimFile",
    "Finished",
    "Interval",
    "Job",
    "FigureStore",
    "Kind",
    "Measured",
    "Mutation",
    "Progress",
    "Row",
    "Runner",
    "Values",
    "Verdict",
    "claims_of",
    "counts",
    "experiment_files",
    "headline",
    "judged",
    "local",
    "named_claims",
    "over_seeds",
    "paper_files",
    "passed",
    "read_claims",
    "rows_of",
    "verdict",
]
