# SPDX-License-Identifier: Apache-2.0
"""Lanes that routes need: those they use, and those of an assignment of whole paths to layers.

An assignment by layers gives every path one lane for all its hops, and each lane an acyclic channel
dependency graph: LASH (Skeie, Lysne, Theiss, IPDPS 2002) and DFSSSP (Domke, Hoefler, Nagel, IPDPS 2011). It
is computed here for comparison, by first fit: paths in order, each on the first layer that stays acyclic.
"""

from collections.abc import Iterable
from itertools import pairwise

from controller.deadlock.turn_rules import RuleSet
from controller.plan import Path
from controller.routing.paths import hops_of
from topologies import Fabric

__all__ = ["lanes_used", "layers_needed"]

Hop = tuple[str, str]


def lanes_used(fabric: Fabric, rules: RuleSet, paths: Iterable[Path]) -> int:
    """Return the number of lanes on which frames of these paths travel under the rules."""
    return 1 + max((max(rules.vls_of(fabric, path) or (0,)) for path in set(paths)), default=0)


def layers_needed(paths: Iterable[Path]) -> int:
    """Return the number of layers that first fit opens for these paths."""
    layers: list[_Layer] = []
    for path in dict.fromkeys(paths):
        hops = list(hops_of(path))
        if not any(layer.takes(hops) for layer in layers):
            layers.append(_Layer())
            layers[-1].takes(hops)
    return max(1, len(layers))


class _Layer:
    """Dependencies between hops on one lane, which stay acyclic."""

    def __init__(self) -> None:
        self._after: dict[Hop, set[Hop]] = {}

    def takes(self, hops: list[Hop]) -> bool:
        """Add the dependencies of a path, unless they close a cycle; return whether they were added."""
        added: list[tuple[Hop, Hop]] = []
        for before, after in pairwise(hops):
            if after in self._after.get(before, ()):
                continue
            if self._reaches(after, before):
                for first, second in added:
                    self._after[first].discard(second)
                return False
            self._after.setdefault(before, set()).add(after)
            added.append((before, after))
        return True

    def _reaches(self, start: Hop, goal: Hop) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            for following in self._after.get(waiting.pop(), ()):
                if following == goal:
                    return True
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return False
