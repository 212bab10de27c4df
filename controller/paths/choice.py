# SPDX-License-Identifier: Apache-2.0
"""The part of a forwarding scheme used by standby paths, overflow paths and repathing."""

from typing import Protocol

from controller.deadlock.turn_rules import RuleSet
from controller.paths.finder import PathFinder
from controller.plan.entry import Path

__all__ = ["PathChoice"]


class PathChoice(Protocol):
    """Paths from sources to destinations (pairs) over the working links of a finder."""

    @property
    def finder(self) -> PathFinder:
        """Finder of paths over the working links."""
        ...

    @property
    def rules(self) -> RuleSet:
        """Turn rules of the fabric."""
        ...

    def candidates(self, source: str, destination: str) -> list[Path]:
        """Return the candidate paths for a source's traffic to a destination; empty if no path works."""
        ...

    def uses_longer_paths(self, source: str, destination: str) -> bool:
        """Return whether a source may use longer paths than its candidates, to relieve busy links."""
        ...

    def paths_of_length(self, source: str, destination: str, hops: int) -> list[Path]:
        """Return the permitted paths with `hops` hops; empty for a pair that uses no longer paths."""
        ...
