# SPDX-License-Identifier: Apache-2.0
"""Errors of lower floors with the line of the scenario that caused them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, final

from lab.scenario.document import Document, Location
from lab.scenario.loader import relocated
from topologies import RailyardError

__all__ = ["Lines"]

T = TypeVar("T")


@final
class Lines:
    """Adds to an error of a lower floor the line of the scenario that caused it."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def __call__(self, location: Location, make: Callable[[], T]) -> T:
        """Return what `make` returns; its RailyardError becomes a ScenarioError with the line."""
        try:
            return make()
        except RailyardError as ex:
            raise relocated(self.document, location, ex) from ex
