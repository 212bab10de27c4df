# SPDX-License-Identifier: Apache-2.0
"""Checks of files of claims, computed in this process."""

from papers.claims import Check, FigureStore, Runner, claims_of, local, read_claims
from papers.claims.mutations import Turn, mutated

__all__ = ["checks", "turns_of"]


def checks(name: str) -> dict[str, Check]:
    """Return the checks of a file of claims that comes with Railyard, by name."""
    return {check.name: check for check in read_claims(claims_of(name)).checks}


def turns_of(check: Check) -> list[Turn]:
    """Return the turns of a check's mutations."""
    ((_, turns),) = mutated([check], Runner(FigureStore(), local()))
    return turns
