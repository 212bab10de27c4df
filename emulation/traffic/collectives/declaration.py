# SPDX-License-Identifier: Apache-2.0
"""Declaration of a kind of collective: its algorithms, the lower bound of its time, and the keys it takes.

A scenario names the kind and the algorithm. Other packages need nothing but the declaration, so a new
collective is a single module:

    def _half(request: Request) -> Schedule:
        return half_exchange(request.ranks, request.elements)

    half = CollectiveKind(
        "half-exchange",
        (Algorithm("direct", _half, needs_grid=False),),
        bound_ps=lambda capacity: send_bound_ps(capacity.data_bytes, max(capacity.port_rates)),
        bound_source="D/P: what has to leave an NPU",
    )
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import final

from emulation.errors import EmulationError
from emulation.traffic.schedule.schedule import Schedule

__all__ = ["Algorithm", "Capacity", "CollectiveKind", "Cut", "Request"]


@final
@dataclass(frozen=True)
class Request:
    """Arguments that a scenario gives an algorithm: members, data and options.

    Attributes:
        grid: Sizes of the members' dimensions; a single size if the members form no mesh.
        elements: Length of the array of one member, in elements of 4 bytes.
        order: Order of the dimensions for all data; None leaves the orders to the algorithm.
        root: Rank of the source of a broadcast or the target of a reduce.
        experts: Number of members that receive each member's tokens.
        rings: Number of rings of each line; None takes all disjoint rings.
        single_order: Whether all data take the first order of the dimensions.
        unscattered_dims: Number of dimensions, last in each order, along which an AllReduce exchanges whole
            pieces.
        detours: Whether routing may send over a third member.
        dimension_rates: Returns bits per second between two members of a line, by dimension; None if the
            members are no mesh of known rates.
        pair_rates: Returns bits per second by pair of ranks that a link joins.
        hop_ps: Returns the time in ps of a frame from a member to a neighbour, without its transmission on
            the link.
    """

    grid: tuple[int, ...]
    elements: int
    order: tuple[int, ...] | None = None
    root: int = 0
    experts: int = 4
    rings: int | None = None
    single_order: bool = False
    unscattered_dims: int = 0
    detours: bool = True
    dimension_rates: Callable[[], Sequence[float] | None] = lambda: None
    pair_rates: Callable[[], Mapping[tuple[int, int], float]] = dict
    hop_ps: Callable[[], float] = lambda: 0.0

    @property
    def ranks(self) -> int:
        """Number of members."""
        return prod(self.grid)

    @property
    def block(self) -> int:
        """Elements of a block, one for each member; EmulationError if the array has no equal blocks."""
        if self.elements % self.ranks:
            raise EmulationError(
                f"arrays of {self.elements} elements have no equal blocks for {self.ranks} NPUs",
                remedy=f"take a multiple of {self.ranks}, such as "
                f"{max(1, self.elements // self.ranks) * self.ranks}",
            )
        return self.elements // self.ranks


@final
@dataclass(frozen=True)
class Capacity:
    """Data and link rates of a fabric, for computing a lower bound of a collective's time.

    Attributes:
        data_bytes: Size of the array of one member.
        port_rates: Bits per second that each member can send over all its links, by rank.
        root: Rank of the root of a broadcast or a reduce.
        groups: Returns (number of groups, their mean rate outwards in bits per second) for each partition of
            the members into equal groups: by each coordinate, and by each level of the fabric.
        mesh: Returns sizes and rates in bits per second of the dimensions of a full mesh that has no other
            links, else None.
        schedule: Returns the schedule of the collective.
    """

    data_bytes: int
    port_rates: Sequence[float]
    root: int
    groups: Callable[[], Sequence[tuple[int, float]]]
    mesh: Callable[[], tuple[Sequence[int], Sequence[float]] | None]
    schedule: Callable[[], Schedule]

    @property
    def ranks(self) -> int:
        """Number of members."""
        return len(self.port_rates)

    @cached_property
    def mean_rate(self) -> float:
        """Mean of `port_rates`, without rounding error if all rates are equal."""
        low, high = min(self.port_rates), max(self.port_rates)
        return low if low == high else sum(self.port_rates) / len(self.port_rates)


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """Cut of all members into two sides, as seen from the sending side.

    Attributes:
        here: Number of members on the sending side.
        there: Number of members on the receiving side.
        data_bytes: Size of the array of one member.
        has_root: Whether the root is on the sending side.
    """

    here: int
    there: int
    data_bytes: int
    has_root: bool


@final
@dataclass(frozen=True)
class Algorithm:
    """An algorithm of a collective.

    Attributes:
        name: Name in `collective.algorithm`.
        build: Returns the schedule of a request; EmulationError if the request does not fit the algorithm.
        keys: Keys of `collective:` that the algorithm takes beside those of every collective.
        needs_grid: Whether the members have to form a mesh.
        in_mixture: Whether a part of a mixture may use it.
        source: Origin of the algorithm, a sentence without its full stop; empty for a textbook's algorithm.
        in_switches: Whether switches carry out the collective: the schedule has goals and no transfers.
    """

    name: str
    build: Callable[[Request], Schedule]
    keys: tuple[str, ...] = ()
    needs_grid: bool = True
    in_mixture: bool = True
    source: str = ""
    in_switches: bool = False


@final
@dataclass(frozen=True)
class CollectiveKind:
    """An operation on the arrays of the members, with its algorithms, the default first.

    Attributes:
        name: Name in `collective.kind`.
        algorithms: Algorithms by which the operation can be done.
        bound_ps: Returns a lower bound of the time on links of a capacity, in ps.
        bound_source: Formula and origin of the bound, for reports: N members, D bytes each, P the rate of all
            links of a member.
        keys: Keys of `collective:` that every algorithm takes.
        blocks: Whether the array consists of as many equal blocks as there are members.
        crossing_bytes: Returns the least bytes that any algorithm sends across a cut; None if unknown.
        pair_bytes: Returns the bytes that each member has for each other member, given the number of members
            and the bytes of an array; None unless a member sends different data to each other member.
    """

    name: str
    algorithms: tuple[Algorithm, ...]
    bound_ps: Callable[[Capacity], float]
    bound_source: str
    keys: tuple[str, ...] = ()
    blocks: bool = False
    crossing_bytes: Callable[[Cut], float] | None = None
    pair_bytes: Callable[[int, int], float] | None = None

    def algorithm(self, name: str) -> Algorithm:
        """Return the algorithm of a name; EmulationError names the known algorithms."""
        for algorithm in self.algorithms:
            if algorithm.name == name:
                return algorithm
        known = " or ".join(algorithm.name for algorithm in self.algorithms)
        raise EmulationError(f"algorithm {name} cannot carry out {self.name}", remedy=f"take {known}")
