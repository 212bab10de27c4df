# SPDX-License-Identifier: Apache-2.0
"""Claims as data: files of claims are read, computed by the engine of sweeps, and judged.

A file of claims has checks. A check has a source of figures (a model or a scenario) and claims about these
figures. A claim states:

- the paper's figure, its section or table, and its kind;
- the interval in which the claim holds;
- for a known difference, the interval in which our figure is expected;
- a mutation: a change of the value or the parameters that must make the claim fail, as a test of the check.

    expression.py   arithmetic over figures, for a claim's `value:`
    claim.py        claim, kind, interval, mutation; the verdict, a pure function of a claim and a value
    figures/        sources of figures, and their computation
    check.py        check, row of the table, counts by kind
    store.py        figures of finished tasks, which the next call reads
    runner.py       running of tasks: each figure once, resumed, in parallel
    form/           the file: form, reader, catalogue, bundle
    mutations.py    apply each mutation, and check that the claim then fails
    statistics.py   median over seeds and its bootstrap interval
    document.py     experiments.json
    page.py         experiments.html: the table with plots, with filters by kind and verdict
    runs.py         packet-level runs of scenarios, for models
"""

from __future__ import annotations

from papers.claims.check import Check, Progress, Row, Values, headline, judged, passed
from papers.claims.claim import Claim, Interval, Kind, Measured, Mutation, Verdict, verdict
from papers.claims.form.catalogue import claims_of, experiment_files, named_claims, paper_files
from papers.claims.form.reader import ClaimFile, read_claims
from papers.claims.runner import Finished, Runner, local, rows_of
from papers.claims.statistics import over_seeds
from papers.claims.store import FigureStore

__all__ = [
    "Check",
    "Claim",
    "ClaimFile",
    "Finished",
    "Interval",
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
