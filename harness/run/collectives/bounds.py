# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of a collective's time on the links of a fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from controller.schemes.registry import Routing
from emulation.traffic import collectives as c
from emulation.traffic.collectives.declaration import Capacity
from emulation.traffic.collectives.registry import find
from harness.run.collectives.graph_bounds import graph_bounds
from harness.run.collectives.grids import dimension_rates, grid_of, groups_of, out_bps, pair_rates
from harness.run.collectives.schedule import schedule_of
from harness.scenario.schema import ELEMENT_BYTES, Collective
from topologies import Fabric

__all__ = ["BUSIEST_LINK", "RING", "bound_ps", "bounds", "largest_ps"]

RING = "2 (N - 1)/N D/B of a ring that keeps to its own links, B being the rate of a link"
BUSIEST_LINK = "bytes of the busiest pair of members, over the rate of its direct link"


def bound_ps(fabric: Fabric, members: Sequence[str], collective: Collective, routing: Routing) -> int:
    """Return the largest lower bound of a collective's time, in ps."""
    return largest_ps(bounds(fabric, members, collective, routing))


def largest_ps(named: Mapping[str, float]) -> int:
    """Return the largest of several bounds, rounded to whole ps and at least 1."""
    return max(1, round(max(named.values())))


def bounds(
    fabric: Fabric, members: Sequence[str], collective: Collective, routing: Routing
) -> dict[str, float]:
    """Return lower bounds of a collective's time on the links of a fabric, in ps, by a description of each.

    One bound is the largest of four times: the time for data to leave a member, to leave all members of equal
    coordinate in a dimension, to leave a level of the fabric such as a host, or to cross the middle of a
    dimension. With a single path that the source or the tables choose, neighbours send over their direct link
    only, so the busiest of these links gives another bound. On fabrics whose traffic does not follow
    dimensions, `graph_bounds` are added.
    """
    structured = routing.scheme.follows_dimensions
    direct = structured and routing.strategy.single_path and not routing.strategy.by_hash
    if collective.algorithm == "ring" and direct:
        rate = min(link.rate_bps for link in fabric.links)
        return {RING: c.ring_bound_ps(len(members), collective.data_bytes, rate)}
    named = {find(collective.kind).bound_source: _bound(fabric, members, collective, structured=structured)}
    if not structured:
        # On a general graph paths share links, whatever the strategy is.
        return named | graph_bounds(fabric, members, collective)
    if direct and collective.algorithm != "bidirectional-dimension-order":
        schedule = schedule_of(fabric, members, collective, detours=False)
        named[BUSIEST_LINK] = c.busiest_pair_ps(schedule, pair_rates(fabric, members), ELEMENT_BYTES)
    return named


def _bound(fabric: Fabric, members: Sequence[str], collective: Collective, *, structured: bool) -> float:
    def mesh() -> tuple[Sequence[int], Sequence[float]] | None:
        if (
            not structured
            or any(link.dimension is None for link in fabric.links)
            or len(members) < len(fabric.nodes)
        ):
            return None  # traffic may leave the dimensions, so the mesh gives no bound
        grid = grid_of(fabric, members)
        return grid, dimension_rates(fabric, members, range(len(grid)), grid)

    capacity = Capacity(
        collective.data_bytes,
        [_port_bps(fabric, name) for name in members],
        collective.root,
        groups=lambda: _groups(fabric, members),
        mesh=mesh,
        schedule=lambda: schedule_of(fabric, members, collective),
    )
    return find(collective.kind).bound_ps(capacity)


def _groups(fabric: Fabric, members: Sequence[str]) -> list[tuple[int, float]]:
    """Return, for each partition of the members into groups, the number of groups and their mean rate out.

    Partitions are by each coordinate, and by the coordinates of each level of the fabric: host, segment. The
    rate out of a group is the smaller of two sums of link rates: out of its members, and out of all nodes
    with the group's coordinates, which may forward for the members. The bounds count each group as a single
    member, so partitions into groups of different sizes are left out.
    """
    counts_and_rates = []
    for groups in groups_of(fabric, members):
        if len({len(group.members) for group in groups}) == 1:
            rates = [
                min(out_bps(fabric, nodes) for nodes in {group.members, group.place}) for group in groups
            ]
            counts_and_rates.append((len(groups), mean(rates)))
    return counts_and_rates


def _port_bps(fabric: Fabric, name: str) -> int:
    """Return the sum of the rates of a member's links, in bits per second in each direction."""
    ports = fabric.node(name).ports
    return sum(link.rate_bps for port in ports if (link := fabric.link_at(name, port.number)))
