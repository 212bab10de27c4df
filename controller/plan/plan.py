# SPDX-License-Identifier: Apache-2.0
"""Plan of a fabric: routes, and the table entries made from the routes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.plan.entry import BUCKETS, Entry, Hashing, Pair, Path
from controller.plan.routes import Routes, Weights
from controller.plan.subscribers import Subscribers
from topologies import Fabric

__all__ = ["Plan"]


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Routes of a fabric, and the table entries made from the routes, by node.

    A pair is (source, destination): the names of two endpoints.

    Attributes:
        fabric: Fabric that the plan serves.
        strategy: Name of the routing strategy.
        rules: Name of the turn rules.
        failed: Names of failed links, which carry no route.
        routes: The path of each of 16 buckets, by pair (source, destination).
        entries: Table entries, by node.
        subscribers: Sources to notify when a link fails, by link.
        hashing: Choice of hash bits for which the switches' groups were made.
        scheme: Name of the forwarding scheme; empty for the fabric's own scheme.
        candidates: Paths among which a source may choose, by pair.
        weights: Share of traffic of each bucket, by pair. A pair without weights has equal shares. A bucket
            of weight 0 has a standby path: no data takes it while the pair's other paths work.
        demand: Bytes by pair for which the shares were made; empty if the traffic was not known.
    """

    fabric: Fabric
    strategy: str
    rules: str
    failed: frozenset[str]
    routes: Mapping[Pair, tuple[Path, ...]]
    entries: Mapping[str, Sequence[Entry]]
    subscribers: Mapping[str, tuple[str, ...]]
    hashing: Hashing = "per-tier"
    scheme: str = ""
    candidates: Mapping[Pair, Sequence[Path]] = field(default_factory=dict, repr=False, compare=False)
    weights: Mapping[Pair, tuple[float, ...]] = field(default_factory=dict)
    demand: Mapping[Pair, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.routes, Routes):
            object.__setattr__(self, "routes", Routes.of(self.fabric, self.routes))

    @property
    def route_columns(self) -> Routes:
        """The routes as columns."""
        assert isinstance(self.routes, Routes)
        return self.routes

    @property
    def weight_columns(self) -> Weights:
        """The weights as columns, by number of the pair among the routes."""
        if isinstance(self.weights, Weights):
            return self.weights
        return Weights.of(self.route_columns.paths, self.weights)

    def routes_from(self, source: str) -> Mapping[str, tuple[Path, ...]]:
        """Return the routes of one source by destination."""
        return self.route_columns.from_source(source)

    def shares(self, source: str, destination: str) -> dict[Path, float]:
        """Return the paths of traffic from a source to a destination, each with its share.

        KeyError if no path is planned.
        """
        paths = self.routes[source, destination]
        weights = self.weights.get((source, destination), (1 / BUCKETS,) * BUCKETS)
        shares: dict[Path, float] = {}
        for path, weight in zip(paths, weights, strict=True):
            if weight:
                shares[path] = shares.get(path, 0.0) + weight
        return shares

    def notifies(self, node: str, link: str) -> bool:
        """Return whether a node is among the subscribers of a link."""
        if isinstance(self.subscribers, Subscribers):
            return self.subscribers.include(link, node)
        return node in self.subscribers[link]

    def bucket_weights(self) -> NDArray[np.float64]:
        """Return, for each planned pair, the share of its traffic on each bucket, shape (pairs, 16)."""
        pairs = self.route_columns.paths.pairs
        weights = np.full((len(pairs), BUCKETS), 1 / BUCKETS)
        columns = self.weight_columns
        known = columns.numbers >= 0
        weights[known] = np.array(columns.patterns).reshape(-1, BUCKETS)[columns.numbers[known]]
        return weights
