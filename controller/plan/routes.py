# SPDX-License-Identifier: Apache-2.0
"""Routes of a plan as columns: the path of each of the 16 buckets of each pair, and the buckets' weights."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from controller.plan.entry import BUCKETS, Pair, Path
from controller.plan.path_columns import PathColumns
from topologies import Fabric

__all__ = ["Routes", "RoutesFrom", "Weights", "numbered_by_first_use"]


@final
class Routes(Mapping[Pair, tuple[Path, ...]]):
    """Path of each bucket of each pair; as a mapping, a pair's names lead to its 16 paths.

    `buckets`, shape (pairs, 16), has the path of each bucket as a row of `paths`.
    """

    def __init__(self, paths: PathColumns, buckets: NDArray[np.int64]) -> None:
        self.paths = paths
        self.buckets = buckets

    @classmethod
    def of(cls, fabric: Fabric, routes: Mapping[Pair, Sequence[Path]]) -> Self:
        """Return the columns of routes by name, 16 paths a pair."""
        paths = PathColumns.of(fabric, {pair: list(dict.fromkeys(own)) for pair, own in routes.items()})
        buckets = np.zeros((len(paths), BUCKETS), np.int64)
        for number, pair in enumerate(paths.pairs.names()):
            rows = {
                path: int(paths.first[number]) + at for at, path in enumerate(dict.fromkeys(routes[pair]))
            }
            buckets[number] = [rows[path] for path in routes[pair]]
        return cls(paths, buckets)

    def of_number(self, number: int) -> tuple[Path, ...]:
        """Return the path of each bucket of the pair with this number."""
        return tuple([self.paths.path(row) for row in self.buckets[number].tolist()])

    def __getitem__(self, pair: Pair) -> tuple[Path, ...]:
        return self.of_number(self.paths.pairs.numbered(pair))

    def __contains__(self, pair: object) -> bool:
        return pair in self.paths

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def from_source(self, source: str) -> "RoutesFrom":
        """Return the routes of one source by destination."""
        return RoutesFrom(self, source)

    def destinations_over(self, source: str, neighbours: tuple[str, str]) -> list[str]:
        """Return the destinations of a source's paths over links between two neighbours, either direction."""
        pairs = self.paths.pairs
        numbers = pairs.of_source(source)
        nodes = self.paths.nodes[self.buckets[numbers.start : numbers.stop]]
        tails, heads = nodes[:, :, :-1], nodes[:, :, 1:]
        first, second = (self.paths.fabric.node(name).index for name in neighbours)
        crossed = ((tails == first) & (heads == second)) | ((tails == second) & (heads == first))
        return [pairs.name(numbers[at])[1] for at in np.flatnonzero(crossed.any(axis=(1, 2))).tolist()]


@final
class RoutesFrom(Mapping[str, tuple[Path, ...]]):
    """Routes of one source by destination; each is created when it is read."""

    def __init__(self, routes: Routes, source: str) -> None:
        self._routes = routes
        self._source = source

    def __getitem__(self, destination: str) -> tuple[Path, ...]:
        return self._routes[self._source, destination]

    def __contains__(self, destination: object) -> bool:
        return (self._source, destination) in self._routes

    def __iter__(self) -> Iterator[str]:
        pairs = self._routes.paths.pairs
        return (pairs.name(number)[1] for number in pairs.of_source(self._source))

    def __len__(self) -> int:
        return len(self._routes.paths.pairs.of_source(self._source))


@final
class Weights(Mapping[Pair, tuple[float, ...]]):
    """Weights of buckets, by pair, for pairs with unequal weights.

    Pair p of `paths` has the weights `patterns[numbers[p]]`, or no weights if `numbers[p]` is negative.
    """

    def __init__(
        self, paths: PathColumns, numbers: NDArray[np.int64], patterns: Sequence[tuple[float, ...]]
    ) -> None:
        self.numbers = numbers
        self.patterns = tuple(patterns)
        self._pairs = paths.pairs

    @classmethod
    def of(cls, paths: PathColumns, weights: Mapping[Pair, tuple[float, ...]]) -> Self:
        """Return the columns of weights by name."""
        numbers = np.full(len(paths), -1, np.int64)
        numbers[[paths.pairs.numbered(pair) for pair in weights]] = np.arange(len(weights))
        return cls(paths, numbers, [*weights.values()])

    def __getitem__(self, pair: Pair) -> tuple[float, ...]:
        number = self._pairs.number(pair)
        if number is None or self.numbers[number] < 0:
            raise KeyError(pair)
        return self.patterns[self.numbers[number]]

    def __iter__(self) -> Iterator[Pair]:
        return (self._pairs.name(number) for number in np.flatnonzero(self.numbers >= 0).tolist())

    def __len__(self) -> int:
        return int((self.numbers >= 0).sum())


def numbered_by_first_use(values: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return `values`, (pairs, 16), with the values of each row numbered 0, 1, ... by first use."""
    first = (values[:, :, None] == values[:, None, :]).argmax(axis=2)
    count = np.cumsum(first == np.arange(values.shape[1]), axis=1) - 1
    return np.take_along_axis(count, first, axis=1).astype(np.uint8)
