# SPDX-License-Identifier: Apache-2.0
"""Count the virtual lanes needed by routes: under the turn rules, or with one lane for each path (a layer).

An assignment to layers gives every path one lane for all its hops. The channel dependency graph of each lane
is acyclic: LASH (Skeie, Lysne, Theiss, IPDPS 2002) and DFSSSP (Domke, Hoefler, Nagel, IPDPS 2011). For
comparison, layers are counted by first fit: each path in turn takes the first layer that stays acyclic.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from controller.deadlock.ranks import relays
from controller.deadlock.turn_rules import RuleSet
from controller.plan.entry import Path, hops_of
from topologies import Fabric

__all__ = ["lanes_used", "layers_needed", "lengthened"]

Hop = tuple[str, str]


def lanes_used(fabric: Fabric, rules: RuleSet, paths: Iterable[Path]) -> int:
    """Return the number of lanes used by frames of these paths under the rules."""
    return 1 + max((max(rules.vls_of(fabric, path) or (0,)) for path in set(paths)), default=0)


def lengthened(fabric: Fabric, routes: Mapping[tuple[str, str], Sequence[Path]]) -> dict[int, int]:
    """Return, by number of extra hops, how many pairs have only planned paths longer than the shortest.

    Such pairs exist where the turn rules have too few lanes to admit the shortest path.
    """
    import networkx as nx

    relaying, graph = relays(fabric), fabric.graph()
    hosts = [] if relaying else [node.name for node in fabric.endpoints]
    between = graph.copy()
    between.remove_nodes_from(hosts)
    counts: Counter[int] = Counter()
    for source, pairs in groupby(sorted(routes), key=lambda pair: pair[0]):
        if hosts:
            # Hosts do not forward, so the graph has the links of only one host, the source.
            between.add_edges_from(graph.edges(source))
        steps = nx.single_source_shortest_path_length(between, source)
        for _, destination in pairs:
            ends = [destination] if not hosts else graph.neighbors(destination)
            direct = graph.has_edge(source, destination)
            fewest = 1 if direct else min(steps[end] for end in ends if end in steps) + bool(hosts)
            counts[min(map(len, routes[source, destination])) - 1 - fewest] += 1
        if hosts:
            between.remove_node(source)
    return {more: count for more, count in sorted(counts.items()) if more > 0}


def layers_needed(paths: Iterable[Path]) -> int:
    """Return the number of layers, lanes without a cycle, used by first fit for these paths."""
    layers: list[_Layer] = []
    for path in dict.fromkeys(paths):
        hops = list(hops_of(path))
        if not any(layer.takes(hops) for layer in layers):
            layers.append(_Layer())
            layers[-1].takes(hops)
    return max(1, len(layers))


class _Layer:
    """Dependencies between hops on one lane; they are acyclic."""

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
