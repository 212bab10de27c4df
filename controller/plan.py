# SPDX-License-Identifier: Apache-2.0
"""A plan: the table entries of every switch, as values independent of P4Runtime and of the testbeds."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, final

from topologies import Fabric

__all__ = [
    "BUCKETS",
    "CPU_PORT",
    "Entry",
    "Exact",
    "Hashing",
    "Lpm",
    "Match",
    "Optional",
    "Params",
    "Path",
    "Plan",
    "Range",
    "Strategy",
    "Ternary",
]

# Path buckets of the table all_path: the low 4 bits of NTH.lb.
BUCKETS = 16

# The port by which the P4 programs know the controller.
CPU_PORT = 510

# Names of the nodes a frame visits, source and destination included.
Path = tuple[str, ...]

# How routes are chosen, by name: docs/fabrics/ub-mesh.md; on graphs docs/use/bring-your-own.md.
Strategy = str

# Which bits of the hash the switches of a level look at: of their own each level, or all of them the same.
Hashing = Literal["per-tier", "identical"]


@final
@dataclass(frozen=True, slots=True)
class Exact:
    """Match of a whole field."""

    value: int


@final
@dataclass(frozen=True, slots=True)
class Lpm:
    """Match of the leading `prefix` bits of a field."""

    value: int
    prefix: int


@final
@dataclass(frozen=True, slots=True)
class Ternary:
    """Match of the bits that are set in `mask`."""

    value: int
    mask: int


@final
@dataclass(frozen=True, slots=True)
class Range:
    """Match of a range of values, both ends included."""

    low: int
    high: int


@final
@dataclass(frozen=True, slots=True)
class Optional:
    """Match of an optional field; a field that may have any value is left out of `Entry.match`."""

    value: int


Match = Exact | Lpm | Ternary | Range | Optional

Params = tuple[tuple[str, int], ...]
"""Names and values of an action's parameters, in its order."""


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One table entry: `match` by key name in the table's key order, `params` in the action's order.

    A key that matches anything (ternary, range, optional, prefix 0) is left out of `match`.
    `priority` is 0 unless the table has a ternary, range or optional key; then higher wins. In a table with
    an action selector `members` gives the parameters of each member in the order in which the selector
    numbers them, and `params` is empty. A `default` entry is the default action of its table.
    """

    table: str
    match: tuple[tuple[str, Match], ...]
    action: str
    params: Params = ()
    priority: int = 0
    members: tuple[Params, ...] = ()
    default: bool = False

    @property
    def key(self) -> Hashable:
        """Identity of the entry in a switch: two entries of equal key replace each other."""
        return self.table, self.match, self.priority, self.default


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Entries for every switch of a fabric, and the routes they were made from.

    `routes` gives 16 paths a (source, destination) that was planned for, one a bucket. `watchers` gives, for
    every link, the sources to notify when it fails. `failed` links carry no route. `hashing` is what the
    switches' groups were made for.

    `candidates` are the paths among which a source may choose, by pair.

    `weights` gives the share of traffic of each of a pair's buckets; a pair without weights uses all buckets
    alike. A bucket of weight 0 has a standby path: no data takes it while the others work. `demand` has the
    bytes by pair for which the shares were made; it is empty if the traffic was not known.
    """

    fabric: Fabric
    strategy: Strategy
    rules: str
    failed: frozenset[str]
    routes: Mapping[tuple[str, str], tuple[Path, ...]]
    entries: Mapping[str, tuple[Entry, ...]]
    subscribers: Mapping[str, tuple[str, ...]]
    hashing: Hashing = "per-tier"
    candidates: Mapping[tuple[str, str], list[Path]] = field(default_factory=dict, repr=False, compare=False)
    weights: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
    demand: Mapping[tuple[str, str], float] = field(default_factory=dict)
    _by_source: dict[str, dict[str, tuple[Path, ...]]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_source: dict[str, dict[str, tuple[Path, ...]]] = {}
        for (source, destination), paths in self.routes.items():
            by_source.setdefault(source, {})[destination] = paths
        object.__setattr__(self, "_by_source", by_source)

    def routes_from(self, source: str) -> Mapping[str, tuple[Path, ...]]:
        """Return the routes of one source by destination."""
        return self._by_source.get(source, {})

    def shares(self, source: str, destination: str) -> dict[Path, float]:
        """Return the paths that carry a pair's traffic, each with its share; KeyError if none is planned."""
        paths = self.routes[source, destination]
        weights = self.weights.get((source, destination), (1 / BUCKETS,) * BUCKETS)
        shares: dict[Path, float] = {}
        for path, weight in zip(paths, weights, strict=True):
            if weight:
                shares[path] = shares.get(path, 0.0) + weight
        return shares
