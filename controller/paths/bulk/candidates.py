# SPDX-License-Identifier: Apache-2.0
"""Candidate paths of all pairs (source, destination) of a plan, searched for many pairs at once.

The result equals that of `PathChoice.candidates` for each pair. Two searches serve most pairs: paths of up to
two hops within a mesh, and paths through switches alone. For other pairs `PathChoice.candidates` is called.
"""

from collections.abc import Iterable
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.channels import Numbers
from controller.paths.bulk.component_numbers import component_numbers
from controller.paths.bulk.mesh_paths import paths_of_one_hop, paths_of_two_hops
from controller.paths.bulk.node_sets import NodeSets
from controller.paths.bulk.switch_cores import SwitchCores
from controller.paths.bulk.working_hops import WorkingHops
from controller.paths.choice import PathChoice
from controller.paths.switch_paths import MAX_HOPS, TOP_LEVEL
from controller.plan.path_columns import PairColumns, PathColumns, ragged
from topologies.model.columns import distinct

__all__ = ["candidates_of"]

Found = tuple[NDArray[np.intp], Numbers]
"""Paths of many pairs: the pair of each path, and a row of hop numbers for each path."""


def candidates_of(
    choice: PathChoice, pairs: PairColumns, meshes: NDArray[np.int64], *, single_path: bool
) -> PathColumns:
    """Return the candidate paths of every pair, in the order of `PathChoice.candidates`.

    Args:
        choice: Paths of one pair at a time.
        pairs: Pairs of endpoints.
        meshes: Number of the mesh of each node by index; nodes of no mesh have numbers of their own.
        single_path: A pair within a mesh gets one path, instead of all paths of up to two hops.
    """
    numbers, rows = list[NDArray[np.intp]](), list[Numbers]()
    listed = np.zeros(len(pairs), np.bool_)
    if len(pairs):
        search = _Search(choice, pairs.sources, pairs.destinations, meshes, single_path=single_path)
        for number, hops in (*search.mesh(), *search.switches()):
            listed[number] = True
            numbers.append(number)
            rows.append(hops)
    listed_paths = PathColumns.of_hops(pairs, numbers, rows)
    if listed.all():
        return listed_paths
    rest = {pair: choice.candidates(*pair) for pair in pairs.chosen(~listed).names()}
    return PathColumns.of(pairs.fabric, rest).merged(pairs, listed_paths)


@final
class _Search:
    """Two searches for the pairs of one plan; neither finds paths of all pairs."""

    def __init__(
        self,
        choice: PathChoice,
        sources: Numbers,
        destinations: Numbers,
        meshes: NDArray[np.int64],
        *,
        single_path: bool,
    ) -> None:
        self._single_path = single_path
        self._hops = WorkingHops(choice.finder, choice.rules)
        self._table = self._hops.table
        self._sources, self._destinations = sources, destinations
        self._meshed = meshes[sources] == meshes[destinations]

    def mesh(self) -> Iterable[Found]:
        """Yield the paths of pairs within a mesh: paths of one hop, then paths of two hops."""
        chosen = np.flatnonzero(self._meshed)
        sources, destinations = self._sources[chosen], self._destinations[chosen]
        coordinates = self._table.coordinates
        fewest = (coordinates[sources] != coordinates[destinations]).sum(axis=1)
        within = fewest <= 2
        chosen, fewest = chosen[within], fewest[within]
        sources, destinations = sources[within], destinations[within]
        pair, direct = paths_of_one_hop(self._hops, sources, destinations)
        kept = fewest[pair] <= 1
        pair, direct = pair[kept], direct[kept]
        joined = np.zeros(len(chosen), np.bool_)
        joined[pair] = True
        yield chosen[pair], direct
        wanted = np.flatnonzero(~joined) if self._single_path else np.arange(len(chosen))
        at, longer = paths_of_two_hops(self._hops, sources[wanted], destinations[wanted])
        at = wanted[at]
        if self._single_path:
            at, first = np.unique(at, return_index=True)
            longer = longer[first]
        else:
            # Leave out a pair whose only path here has two hops: `PathChoice.candidates` looks for longer
            # candidates of this pair too.
            kept = joined[at] | (np.bincount(at, minlength=len(chosen))[at] > 1)
            at, longer = at[kept], longer[kept]
        yield chosen[at], longer

    def switches(self) -> Iterable[Found]:
        """Yield the shortest paths through switches alone, for pairs without other candidates."""
        table, hops = self._table, self._hops
        chosen = np.flatnonzero(~self._meshed)
        if not len(chosen):
            return
        networks = self._networks()
        chosen = chosen[networks.meet(self._sources[chosen], networks, self._destinations[chosen])]
        if not self._single_path:
            chosen = chosen[~self._may_be_relayed(self._sources[chosen], self._destinations[chosen])]
        if not len(chosen):
            return
        switches = table.tiers > 0
        sets: dict[tuple[int, ...], int] = {}
        number = np.full(len(table.names), -1, np.int64)
        ends = distinct(np.concatenate([self._sources[chosen], self._destinations[chosen]]))
        uplinks = _Uplinks(hops, switches)
        for end in ends.tolist():
            number[end] = sets.setdefault(tuple(uplinks.switches_of(end)), len(sets))
        key, example, of_pair = np.unique(
            number[self._sources[chosen]] * len(sets) + number[self._destinations[chosen]],
            return_index=True,
            return_inverse=True,
        )
        firsts, lasts = np.divmod(key, len(sets))
        pending = np.arange(len(key))
        by_key = np.argsort(of_pair, kind="stable")
        begin = np.searchsorted(of_pair[by_key], np.arange(len(key) + 1))
        top = table.levels >= TOP_LEVEL
        for usable in (switches & ~top, switches) if top.any() else (switches,):
            search = SwitchCores(hops, usable, list(sets))
            searched = pending
            if top.any() and usable is not switches:
                searched = pending[self._joined_by(usable, chosen[example[pending]])]
            for count in range(1, MAX_HOPS):
                resolved, cores = search.cores(firsts[searched], lasts[searched], count)
                resolved = searched[resolved]
                allowed = hops.admitted(self._with_ends(cores, chosen[example[resolved]]))
                resolved, cores = resolved[allowed], cores[allowed]
                rows, positions = ragged(begin[resolved], begin[resolved + 1])
                # Each pair of a key gets all paths of the key; a later stable sort by pair keeps their order.
                pairs = chosen[by_key[positions]]
                yield pairs, self._joined(cores, rows, pairs, uplinks, chosen[example[resolved]])
                searched = np.setdiff1d(searched, resolved, assume_unique=False)
                pending = np.setdiff1d(pending, resolved)

    def _with_ends(self, cores: Numbers, pairs: NDArray[np.intp]) -> Numbers:
        """Return the hops of one path for each pair: source, the switches `cores`, destination."""
        nodes = np.concatenate(
            [self._sources[pairs][:, None], cores, self._destinations[pairs][:, None]], axis=1
        )
        return np.stack(
            [self._hops.hops(nodes[:, step], nodes[:, step + 1]) for step in range(nodes.shape[1] - 1)],
            axis=1,
        )

    def _joined(
        self,
        cores: Numbers,
        rows: NDArray[np.intp],
        pairs: NDArray[np.intp],
        uplinks: "_Uplinks",
        examples: NDArray[np.intp],
    ) -> Numbers:
        """Return the hops of the path of each of `pairs`: source, the switches of a core, destination.

        Args:
            cores: Switches of each core, shape (cores, switches).
            rows: Row of `cores` for each path.
            pairs: The pair of each path.
            uplinks: Hops from endpoints to switches.
            examples: A pair for each core. Its endpoints have uplinks to the same switches as the endpoints
                of all pairs of the core, in the same order.
        """
        inner = [self._hops.hops(cores[:, step], cores[:, step + 1]) for step in range(cores.shape[1] - 1)]
        leaves = uplinks.places(self._sources[examples], cores[:, 0])
        arrives = uplinks.places(self._destinations[examples], cores[:, -1])
        first = uplinks.hops_at(self._sources[pairs], leaves[rows])
        last = uplinks.hops_at(self._destinations[pairs], arrives[rows]) ^ 1
        return np.stack([first, *(hops[rows] for hops in inner), last], axis=1)

    def _networks(self) -> NodeSets:
        """Return, by endpoint, the switch networks to which it has a link; failed links count as well."""
        table = self._table
        tails, heads = table.tails[table.leaving], table.heads[table.leaving]
        network = self._parts(tails, heads, table.tiers > 0)
        return NodeSets(tails, heads, len(table.names)).mapped(network)

    def _joined_by(self, usable: NDArray[np.bool_], pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return, by pair, whether working links between usable switches join switches of its endpoints."""
        tails, heads = self._table.tails[self._hops.leaving], self._table.heads[self._hops.leaving]
        part = self._parts(tails, heads, usable)
        sets = NodeSets(tails, heads, len(self._table.names)).mapped(part)
        return sets.meet(self._sources[pairs], sets, self._destinations[pairs])

    def _parts(self, tails: Numbers, heads: Numbers, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the number of the connected component of each usable node; -1 for other nodes."""
        inside = usable[tails] & usable[heads]
        return np.where(usable, component_numbers(len(usable), tails[inside], heads[inside]), -1)

    def _may_be_relayed(self, sources: Numbers, destinations: Numbers) -> NDArray[np.bool_]:
        """Return, by pair, whether a peer of the source shares an uplink switch with the destination.

        The result is False if the source itself shares such a switch. Peers of an endpoint are the endpoints
        next to it, or behind a switch inside its domain.
        """
        table, hops = self._table, self._hops
        tails, heads = table.tails[hops.leaving], table.heads[hops.leaving]
        count = len(table.names)
        ends = table.tiers == 0
        above = ends[tails] & (table.levels[heads] > 0)
        uplinks = NodeSets(tails[above], heads[above], count)
        peers = ends[tails] & ends[heads]
        inside = ends[tails] & ~ends[heads] & (table.levels[heads] == 0)
        at, behind = hops.onward(heads[inside])
        sources_of = np.concatenate([tails[peers], tails[inside][at]])
        peer = np.concatenate([heads[peers], table.heads[behind]])
        order = np.argsort(sources_of, kind="stable")
        sources_of, peer = sources_of[order], peer[order]
        rows, switches = uplinks.of(peer)
        relayed = NodeSets(sources_of[rows], switches, count)
        return relayed.meet(sources, uplinks, destinations) & ~uplinks.meet(sources, uplinks, destinations)


@final
class _Uplinks:
    """Working hops from nodes to switches, in port order.

    Nodes with equal `switches_of` have the uplink to a switch at the same index. The reverse of hop h is the
    hop h ^ 1.
    """

    def __init__(self, hops: WorkingHops, switches: NDArray[np.bool_]) -> None:
        table = hops.table
        self._working = hops
        self._hops = hops.leaving[switches[table.heads[hops.leaving]]]
        self._heads = table.heads[self._hops]
        self._first = np.searchsorted(table.tails[self._hops], np.arange(len(table.names) + 1))
        self._place = np.zeros(len(table.tails), np.int64)
        self._place[self._hops] = np.arange(len(self._hops)) - self._first[table.tails[self._hops]]

    def switches_of(self, node: int) -> list[int]:
        """Return the switches to which a node has working links."""
        return self._heads[self._first[node] : self._first[node + 1]].tolist()

    def places(self, nodes: Numbers, switches: Numbers) -> NDArray[np.int64]:
        """Return, for every i, the index of the uplink to `switches[i]` among the uplinks of `nodes[i]`."""
        return self._place[self._working.hops(nodes, switches)]

    def hops_at(self, nodes: Numbers, indices: NDArray[np.int64]) -> Numbers:
        """Return, for every i, the uplink at `indices[i]` among the uplinks of `nodes[i]`."""
        return self._hops[self._first[nodes] + indices]
