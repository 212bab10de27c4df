# SPDX-License-Identifier: Apache-2.0
"""Paths of many pairs of endpoints as columns: a row of node numbers for each path.

A plan of a large fabric has hundreds of thousands of pairs. The tuple of names of a path is created only when
the path is read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from controller.plan.entry import Pair, Path
from topologies import Fabric
from topologies.model.columns import columns, distinct
from topologies.model.computed_once import computed_once

__all__ = ["PairColumns", "PathColumns", "ragged"]

Numbers = NDArray[np.int32]
Positions = NDArray[np.intp]


def ragged(
    begins: NDArray[np.integer], ends: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Join the ranges `begins[i]` to `ends[i] - 1`: return the i of each position, and the positions."""
    counts = (ends - begins).astype(np.intp)
    rows = np.repeat(np.arange(len(counts)), counts)
    stops = np.cumsum(counts)
    return rows, np.arange(len(rows)) - np.repeat(stops - counts - begins, counts)


@computed_once
def _numbers_by_name(fabric: Fabric) -> dict[str, int]:
    return {node.name: node.index for node in fabric.nodes}


@final
class PairColumns:
    """Pairs of nodes, sorted by source, then destination, as arrays of node numbers of shape (pairs,)."""

    def __init__(self, fabric: Fabric, sources: Numbers, destinations: Numbers) -> None:
        self.fabric = fabric
        self.sources = sources
        self.destinations = destinations

    @classmethod
    def of(cls, fabric: Fabric, pairs: Iterable[Pair]) -> Self:
        """Return the columns of pairs given by name; a repeated pair counts once."""
        names = chain.from_iterable(pairs)
        try:
            ends = np.fromiter(map(_numbers_by_name(fabric).__getitem__, names), np.int64)
        except KeyError as unknown:
            fabric.node(unknown.args[0])  # raises an error that suggests names
            raise
        count = np.int64(max(len(fabric.nodes), 1))
        keys = distinct(ends[::2] * count + ends[1::2])
        return cls(fabric, (keys // count).astype(np.int32), (keys % count).astype(np.int32))

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        return self._keys_of(self.sources, self.destinations)

    def _keys_of(self, sources: Numbers, destinations: Numbers) -> NDArray[np.int64]:
        return sources.astype(np.int64) * len(self.fabric.nodes) + destinations

    def name(self, number: int) -> Pair:
        """Return the names of a pair's nodes."""
        names = columns(self.fabric).names
        return names[self.sources[number]], names[self.destinations[number]]

    def names(self) -> Iterator[Pair]:
        """Yield the names of all pairs, in order."""
        names = columns(self.fabric).names
        for source, destination in zip(self.sources.tolist(), self.destinations.tolist(), strict=True):
            yield names[source], names[destination]

    def number(self, pair: object) -> int | None:
        """Return the number of a pair given by name, or None if there is no such pair."""
        known = _numbers_by_name(self.fabric)
        try:
            source, destination = (known.get(name) for name in pair)  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            return None
        if source is None or destination is None:
            return None
        key = source * len(self.fabric.nodes) + destination
        at = int(np.searchsorted(self._keys, key))
        return at if at < len(self) and self._keys[at] == key else None

    def numbered(self, pair: Pair) -> int:
        """Return the number of a pair given by name; KeyError if there is no such pair."""
        number = self.number(pair)
        if number is None:
            raise KeyError(pair)
        return number

    def numbers(self, pairs: "PairColumns") -> NDArray[np.int64]:
        """Return the number in these columns of each of `pairs`; -1 for a missing pair."""
        if not len(self):
            return np.full(len(pairs), -1, np.int64)
        wanted = self._keys_of(pairs.sources, pairs.destinations)
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self) - 1)
        return np.where(self._keys[at] == wanted, at, -1)

    def of_source(self, source: str) -> range:
        """Return the numbers of the pairs from a source."""
        node = _numbers_by_name(self.fabric).get(source)
        return range(0) if node is None else range(self._begins[node], self._begins[node + 1])

    @cached_property
    def _begins(self) -> list[int]:
        """Number of the first pair of each source, by node; the last element is the number of all pairs."""
        return np.searchsorted(self.sources, np.arange(len(self.fabric.nodes) + 1)).tolist()

    def chosen(self, kept: NDArray[np.bool_]) -> "PairColumns":
        """Return the pairs marked True in the mask `kept`."""
        return PairColumns(self.fabric, self.sources[kept], self.destinations[kept])


@final
class PathColumns(Mapping[Pair, Sequence[Path]]):
    """Paths of pairs; as a mapping, a pair's names lead to its paths as tuples of names.

    Pair p has the paths `nodes[first[p] : first[p + 1]]`. A row of `nodes` has the node numbers of a path
    from source to destination; -1 fills the rows of shorter paths.
    """

    def __init__(self, pairs: PairColumns, first: NDArray[np.int64], nodes: Numbers) -> None:
        self.pairs = pairs
        self.first = first
        self.nodes = nodes
        self._made: dict[int, Path] = {}

    @classmethod
    def of(cls, fabric: Fabric, paths: Mapping[Pair, Sequence[Path]]) -> Self:
        """Return the columns of paths given as names of nodes."""
        pairs = PairColumns.of(fabric, paths)
        counts, rows = [], list[list[int]]()
        for pair in pairs.names():
            own = paths[pair]
            counts.append(len(own))
            rows += [[fabric.node(name).index for name in path] for path in own]
        width = max(map(len, rows), default=2)
        nodes = np.full((len(rows), width), -1, np.int32)
        for number, row in enumerate(rows):
            nodes[number, : len(row)] = row
        return cls(pairs, np.append(0, np.cumsum(counts, dtype=np.int64)), nodes)

    @classmethod
    def collected(cls, pairs: PairColumns, numbers: Sequence[Positions], rows: Sequence[Numbers]) -> Self:
        """Return the columns of paths found in several parts.

        The paths of a pair keep the order of the parts.

        Args:
            pairs: All pairs, with or without paths.
            numbers: For each part, the number of each path's pair.
            rows: For each part, the node numbers of each path.
        """
        if not rows:
            return cls(pairs, np.zeros(len(pairs) + 1, np.int64), np.zeros((0, 2), np.int32))
        first, targets = _places(numbers, len(pairs))
        return cls(pairs, first, _placed(rows, targets))

    @classmethod
    def of_hops(cls, pairs: PairColumns, numbers: Sequence[Positions], rows: Sequence[Numbers]) -> Self:
        """Return the paths as `collected` does, from hop numbers in `rows` instead of node numbers.

        A hop over parallel links has the number of the first of them.
        """
        table = columns(pairs.fabric)
        if not any(map(len, rows)):
            return cls.collected(pairs, (), ())
        first, targets = _places(numbers, len(pairs))
        hops = _placed(rows, targets)
        # The first element of the heads, -1, stands for the hop -1.
        heads = np.append(np.int32(-1), table.heads)[hops + 1]
        paths = cls(pairs, first, np.concatenate([table.tails[hops[:, :1]], heads], axis=1))
        paths.__dict__["hops"] = hops
        return paths

    @property
    def fabric(self) -> Fabric:
        """Fabric of the nodes."""
        return self.pairs.fabric

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of paths of each pair."""
        return np.diff(self.first)

    @cached_property
    def pair_of(self) -> NDArray[np.int64]:
        """Number of the pair of each path."""
        return np.repeat(np.arange(len(self.pairs)), self.counts)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Hops of each path."""
        return (self.nodes >= 0).sum(axis=1) - 1

    @cached_property
    def hops(self) -> Numbers:
        """Hop numbers of paths (topologies.model.columns), first of parallel hops; -1 fills shorter rows."""
        tails, heads = self.nodes[:, :-1], self.nodes[:, 1:]
        taken = heads >= 0
        hops = np.full(tails.shape, -1, np.int32)
        hops[taken] = columns(self.fabric).hops(tails[taken], heads[taken])
        return hops

    def path(self, row: int) -> Path:
        """Return the names of a path's nodes; repeated calls return one object."""
        path = self._made.get(row)
        if path is None:
            names = columns(self.fabric).names
            path = self._made[row] = tuple([names[node] for node in self.nodes[row].tolist() if node >= 0])
        return path

    def paths_of(self, number: int) -> list[Path]:
        """Return the paths of the pair with this number."""
        return [self.path(row) for row in range(int(self.first[number]), int(self.first[number + 1]))]

    def __getitem__(self, pair: Pair) -> Sequence[Path]:
        return self.paths_of(self.pairs.numbered(pair))

    def __contains__(self, pair: object) -> bool:
        return self.pairs.number(pair) is not None

    def __iter__(self) -> Iterator[Pair]:
        return self.pairs.names()

    def __len__(self) -> int:
        return len(self.pairs)

    def merged(self, pairs: PairColumns, others: "PathColumns") -> "PathColumns":
        """Return the paths of `pairs`, from these columns or, for missing pairs, from `others`."""
        here, there = self.pairs.numbers(pairs), others.pairs.numbers(pairs)
        from_here = here >= 0
        numbers, parts = list[Positions](), list[Numbers]()
        for source, chosen, mask in ((self, here, from_here), (others, there, ~from_here & (there >= 0))):
            wanted = np.flatnonzero(mask)
            rows, at = ragged(source.first[chosen[wanted]], source.first[chosen[wanted] + 1])
            numbers.append(wanted[rows])
            parts.append(source.nodes[at])
        return PathColumns.collected(pairs, numbers, parts)

    def extended(self, more: Mapping[Pair, Sequence[Path]]) -> "PathColumns":
        """Return the paths with further paths appended to some pairs."""
        if not more:
            return self
        others = PathColumns.of(self.fabric, more)
        numbers = self.pairs.numbers(others.pairs)
        return PathColumns.collected(
            self.pairs, [self.pair_of, numbers[others.pair_of]], [self.nodes, others.nodes]
        )

    def chosen(self, kept: NDArray[np.bool_]) -> "PathColumns":
        """Return the paths of the pairs marked True in the mask `kept`."""
        pairs = self.pairs.chosen(kept)
        rows, at = ragged(self.first[:-1][kept], self.first[1:][kept])
        return PathColumns.collected(pairs, [rows], [self.nodes[at]])

    def on(self, fabric: Fabric) -> "PathColumns":
        """Return the same paths for `fabric`, whose nodes are the same and whose links may differ."""
        pairs = PairColumns(fabric, self.pairs.sources, self.pairs.destinations)
        return PathColumns(pairs, self.first, self.nodes)


def _places(numbers: Sequence[Positions], pairs: int) -> tuple[NDArray[np.int64], Positions]:
    """Return the first row of each pair, and the row of each path, from the pairs of paths in parts."""
    number = np.concatenate(numbers)
    first = np.append(0, np.cumsum(np.bincount(number, minlength=pairs), dtype=np.int64))
    targets = np.empty(len(number), np.intp)
    targets[np.argsort(number, kind="stable")] = np.arange(len(number))
    return first, targets


def _placed(parts: Sequence[Numbers], targets: Positions) -> Numbers:
    """Return an array with each path of the parts in its target row, padded with -1."""
    parts = [part for part in parts if len(part)]  # an empty part may be wider than all others
    rows = np.full((len(targets), max((part.shape[1] for part in parts), default=2)), -1, np.int32)
    begin = 0
    for part in parts:
        rows[targets[begin : begin + len(part)], : part.shape[1]] = part
        begin += len(part)
    return rows
