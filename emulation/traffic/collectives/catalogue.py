# SPDX-License-Identifier: Apache-2.0
"""Collective kinds shipped with Railyard; emulation.traffic.collectives.registry knows them by name."""

from collections.abc import Callable, Mapping
from typing import Literal

from emulation.errors import EmulationError
from emulation.traffic.collectives.bounds import (
    all_to_all_bound_ps,
    allreduce_ports_bound_ps,
    gather_bound_ps,
    send_bound_ps,
    traffic_bound_ps,
)
from emulation.traffic.collectives.declaration import Algorithm, Capacity, CollectiveKind, Cut, Request
from emulation.traffic.collectives.dimension_wise import (
    balanced,
    bidirectional_dimension_order,
    dimension_wise,
    direct,
    in_order,
)
from emulation.traffic.collectives.exchange import all_to_all, direct_all_to_all, pipeline
from emulation.traffic.collectives.hierarchical import broadcast, combine, dispatch, experts, reduce
from emulation.traffic.collectives.in_switches import switch_tree
from emulation.traffic.collectives.mesh_rings import borrowing_rings, mesh_multi_ring, mesh_rings
from emulation.traffic.collectives.rings import allreduce_ring, mesh_ring, multi_ring, rings
from emulation.traffic.collectives.split import balanced_rings
from emulation.traffic.schedule.schedule import Schedule
from topologies.families.full_mesh import UB_MESH

__all__ = ["KINDS"]

_ELEMENT_BYTES = 4
_PORTS_BOUND = "what has to leave or reach an NPU, over the rate P of all its links; derived here"
_TRAFFIC_BOUND = "all bytes sent, over the rate of all links of the members; derived here"

_Gather = Literal["allreduce", "reduce-scatter", "all-gather"]


# -- AllReduce, reduce-scatter, all-gather


def _dimension_wise(kind: _Gather) -> Algorithm:
    def build(request: Request) -> Schedule:
        if request.order:
            # An all-gather runs through the dimensions in reverse.
            shares = {request.order[::-1] if kind == "all-gather" else request.order: 1.0}
        elif request.single_order:
            shares = in_order(request.grid)
        else:
            shares = balanced(
                request.grid, request.dimension_rates(), unscattered_dims=request.unscattered_dims
            )
        return dimension_wise(
            request.grid,
            request.elements,
            kind=kind,
            shares=shares,
            unscattered_dims=request.unscattered_dims,
        )

    return Algorithm("dimension-wise", build, keys=("shares", "unscattered_dims", "order"))


def _direct(kind: _Gather) -> Algorithm:
    return Algorithm(
        "direct", lambda request: direct(request.ranks, request.elements, kind), needs_grid=False
    )


def _ring(request: Request) -> Schedule:
    grid = request.grid
    return allreduce_ring(range(grid[0]) if len(grid) == 1 else mesh_ring(grid), request.elements)


def _rings(direction: Literal["directed", "undirected"]) -> Callable[[Request], Schedule]:
    def build(request: Request) -> Schedule:
        rates = _line_rates(request)
        if len(request.grid) > 1:
            mesh = mesh_rings(request.grid, direction, request.rings)
            return mesh_multi_ring(mesh, request.elements, rates, detours=request.detours)
        disjoint = rings(request.ranks, direction)
        if (request.rings or 1) > len(disjoint):
            raise EmulationError(
                f"{request.ranks} NPUs do not have {request.rings} rings that share no link",
                remedy=f"take up to {len(disjoint)} rings",
            )
        chosen = disjoint[: request.rings]
        split = balanced_rings(chosen, rates, detours=request.detours)
        return multi_ring(chosen, request.elements, split.shares)

    return build


def _borrowing(request: Request) -> Schedule:
    mesh, rates = borrowing_rings(request.grid), _line_rates(request)
    step = request.hop_ps() / 10**12 / (8 * _ELEMENT_BYTES * request.elements) if rates else 0.0
    return mesh_multi_ring(mesh, request.elements, rates, detours=request.detours, step=step)


def _line_rates(request: Request) -> Mapping[tuple[int, int], float]:
    """Return link rates in bit/s by pair of ranks; empty, for equal rates, if pairs of a line lack links."""
    rates = request.pair_rates()
    pairs = request.ranks * sum(size - 1 for size in request.grid)
    return rates if len(rates) >= pairs else {}


def _allreduce_bound(capacity: Capacity) -> float:
    data = capacity.data_bytes
    groups = (allreduce_ports_bound_ps(number, data, rate) for number, rate in capacity.groups())
    return max(allreduce_ports_bound_ps(capacity.ranks, data, capacity.mean_rate), *groups)


def _gather_bound(capacity: Capacity) -> float:
    data = capacity.data_bytes
    groups = (gather_bound_ps(number, data, rate) for number, rate in capacity.groups())
    return max(gather_bound_ps(capacity.ranks, data, capacity.mean_rate), *groups)


_ALLREDUCE = CollectiveKind(
    "allreduce",
    (
        Algorithm(
            "bidirectional-dimension-order",
            lambda request: bidirectional_dimension_order(request.grid, request.elements),
            in_mixture=False,
            source="half of the array takes X first, half Y first; on 8 x 8 with links of rate B the bound "
            f"is 0.140625 D/B. Derived from the 2D full mesh of {UB_MESH}, which does not state it",
        ),
        Algorithm("ring", _ring, in_mixture=False),
        Algorithm(
            "rings",
            _rings("directed"),
            keys=("rings",),
            in_mixture=False,
            source=f"logical rings on exclusive links, as in {UB_MESH}; the rings themselves are chosen here",
        ),
        Algorithm(
            "bidirectional-rings",
            _rings("undirected"),
            keys=("rings",),
            in_mixture=False,
            source=f"logical rings on exclusive links, as in {UB_MESH}; here Walecki's Hamiltonian cycles",
        ),
        Algorithm(
            "multi-ring",
            _borrowing,
            in_mixture=False,
            source=f"rings on exclusive links that borrow idle links: {UB_MESH}, which gives no rings; here "
            "Walecki's cycles, and rings of the links that these leave idle",
        ),
        _direct("allreduce"),
        _dimension_wise("allreduce"),
        switch_tree("allreduce"),
    ),
    bound_ps=_allreduce_bound,
    # Each side needs the other side's sum, which has the size of one array.
    crossing_bytes=lambda cut: cut.data_bytes,
    bound_source=f"2 (N - 1)/N D/P: {_PORTS_BOUND}",
)


def _gather_crossing(cut: Cut) -> float:
    """Return the bytes of the sending side's pieces, all missing on the other side."""
    return cut.here / (cut.here + cut.there) * cut.data_bytes


def _scatter_crossing(cut: Cut) -> float:
    """Return the bytes of the sending side's sums, one for each piece of the other side."""
    return cut.there / (cut.here + cut.there) * cut.data_bytes


def _half(kind: Literal["reduce-scatter", "all-gather"]) -> CollectiveKind:
    return CollectiveKind(
        kind,
        (_dimension_wise(kind), _direct(kind), switch_tree(kind)),
        bound_ps=_gather_bound,
        crossing_bytes=_gather_crossing if kind == "all-gather" else _scatter_crossing,
        bound_source=f"(N - 1)/N D/P: {_PORTS_BOUND}",
    )


# -- all-to-all


def _partitions(request: Request) -> Schedule:
    return all_to_all(request.grid, request.block, orders=[request.order] if request.order else None)


def _all_to_all_bound(capacity: Capacity) -> float:
    ranks, data = capacity.ranks, capacity.data_bytes
    # A group sends out the part of its data that is for other groups.
    groups = (gather_bound_ps(number, data * ranks / number, rate) for number, rate in capacity.groups())
    leave = max(gather_bound_ps(ranks, data, capacity.mean_rate), *groups)
    if (mesh := capacity.mesh()) is None:
        return leave
    grid, rates = mesh
    return max(leave, all_to_all_bound_ps(grid, data // ranks, rates))


_ALL_TO_ALL = CollectiveKind(
    "all-to-all",
    (
        Algorithm(
            "partitions",
            _partitions,
            keys=("order",),
            source=f"a partition for each dimension, with one forwarding hop at most: {UB_MESH}",
        ),
        Algorithm(
            "direct", lambda request: direct_all_to_all(request.ranks, request.block), needs_grid=False
        ),
    ),
    bound_ps=_all_to_all_bound,
    bound_source="what has to leave an NPU or cross the middle of a dimension; derived here",
    blocks=True,
    crossing_bytes=lambda cut: cut.here * cut.there * cut.data_bytes / (cut.here + cut.there),
    pair_bytes=lambda members, data_bytes: data_bytes / members,
)


# -- broadcast, reduce, dispatch, combine: over a hierarchy, or direct


def _over_hierarchy(build: Callable[[Request, bool], Schedule]) -> tuple[Algorithm, ...]:
    return (
        Algorithm(
            "hierarchical",
            lambda request: build(request, False),
            source=f"one copy for a board or line and fan-out there: {UB_MESH}",
        ),
        Algorithm("direct", lambda request: build(request, True), needs_grid=False),
    )


def _rooted(name: Literal["broadcast", "reduce"]) -> CollectiveKind:
    schedule = broadcast if name == "broadcast" else reduce

    def build(request: Request, is_direct: bool) -> Schedule:
        if request.root >= request.ranks:
            raise EmulationError(
                f"root {request.root} is not a rank of {request.ranks} NPUs",
                remedy=f"give a root from 0 to {request.ranks - 1}",
            )
        return schedule(request.grid, request.elements, request.root, direct=is_direct)

    return CollectiveKind(
        name,
        (*_over_hierarchy(build), switch_tree(name)),
        bound_ps=lambda capacity: send_bound_ps(capacity.data_bytes, capacity.port_rates[capacity.root]),
        bound_source=f"D/P: {_PORTS_BOUND}",
        keys=("root",),
        crossing_bytes=lambda cut: cut.data_bytes if cut.has_root == (name == "broadcast") else 0.0,
    )


def _of_experts(name: Literal["dispatch", "combine"]) -> CollectiveKind:
    schedule = dispatch if name == "dispatch" else combine

    def build(request: Request, is_direct: bool) -> Schedule:
        # A seed of its own, so that the experts do not depend on the seed of the data.
        chosen = experts(request.ranks, request.experts, seed=1)
        return schedule(request.grid, request.block, chosen, direct=is_direct)

    return CollectiveKind(
        name,
        _over_hierarchy(build),
        bound_ps=sent_bound,
        bound_source=_TRAFFIC_BOUND,
        keys=("experts",),
        blocks=True,
    )


def sent_bound(capacity: Capacity) -> float:
    """Return the least time for all bytes of the schedule over all links of the members together, in ps."""
    return traffic_bound_ps(capacity.schedule(), sum(capacity.port_rates), _ELEMENT_BYTES)


# -- mixtures, which harness/run/collectives composes of the other kinds


def _composed(request: Request) -> Schedule:
    raise EmulationError(
        "a mixture consists of other collectives, but none is given", remedy="give its parts"
    )


_MIXTURE = CollectiveKind(
    "mixture",
    tuple(Algorithm(name, _composed, in_mixture=False) for name in ("sequential", "concurrent")),
    bound_ps=sent_bound,
    bound_source=_TRAFFIC_BOUND,
    keys=("parts", "rounds"),
)

_P2P = CollectiveKind(
    "p2p",
    (Algorithm("pipeline", lambda request: pipeline(request.grid, request.elements)),),
    bound_ps=lambda capacity: send_bound_ps(capacity.data_bytes, max(capacity.port_rates)),
    bound_source=f"D/P: {_PORTS_BOUND}",
)

KINDS: tuple[CollectiveKind, ...] = (
    _ALLREDUCE,
    _half("reduce-scatter"),
    _half("all-gather"),
    _ALL_TO_ALL,
    _rooted("broadcast"),
    _rooted("reduce"),
    _of_experts("dispatch"),
    _of_experts("combine"),
    _P2P,
    _MIXTURE,
)
