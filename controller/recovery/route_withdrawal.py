# SPDX-License-Identifier: Apache-2.0
"""Routes around a neighbour that has lost a link below it, for switches that choose among several.

What a neighbour no longer leads to has a longer prefix of its own, and a group without that neighbour: as
where BGP has withdrawn the route of a host, or of a segment, from some of equal ways (HPN, non-stacked
dual-ToR). A switch knows such a link once its upper end has told it (controller.recovery.node_controller).
"""

from collections.abc import Sequence

from controller.routing.paths import PathFinder
from controller.tables.prefixes import Prefix, descendants
from controller.tables.programs import has_table
from controller.tables.segment import NextHop, Segment
from topologies import Node

__all__ = ["upper_end", "withdrawn_segments"]


def upper_end(finder: PathFinder, link: str) -> str:
    """The end of a link that is of the higher tier, the first of two of one tier."""
    fabric = finder.fabric
    ends = fabric.link(link).a.node, fabric.link(link).b.node
    return max(ends, key=lambda name: fabric.node(name).tier)


def withdrawn_segments(finder: PathFinder, here: Node, ways: Sequence[str]) -> list[Segment]:
    """What some neighbours of a switch lead to no more; `ways` are those up."""
    if not finder.failed or not here.tier or not has_table(here, "multipath"):
        return []
    fabric, reach, bits = finder.fabric, descendants(finder.fabric), finder.fabric.address_plan.bits
    near = finder.neighbours(here.name)
    lost: dict[Prefix, set[str]] = {}
    for far in {upper_end(finder, link) for link in finder.failed} & near.keys():
        under = [name for name in fabric.neighbours(far) if fabric.node(name).tier < fabric.node(far).tier]
        alive = [name for name in under if name in finder.neighbours(far)]
        for gone in under:
            for prefix in reach[gone].hops if gone not in alive and gone != here.name else ():
                if all(reach[name].hops_to_prefix(prefix, bits) is None for name in alive):
                    lost.setdefault(prefix, set()).add(far)
    found: list[Segment] = []
    for prefix, fars in sorted(lost.items()):
        left = [far for far in _planned_neighbours(finder, here, prefix, ways) if far not in fars]
        member: NextHop = tuple(left) if len(left) > 1 else left[0] if left else None
        found.append(Segment(prefix, 0, 0, (member,)))
    return found


def _planned_neighbours(finder: PathFinder, here: Node, prefix: Prefix, ways: Sequence[str]) -> Sequence[str]:
    """The neighbours by which a prefix is reached when these have lost nothing: the nearest below, or up."""
    fabric, reach, bits = finder.fabric, descendants(finder.fabric), finder.fabric.address_plan.bits
    lower = [far for far in finder.neighbours(here.name) if fabric.node(far).tier < here.tier]
    hops = {far: count for far in lower if (count := reach[far].hops_to_prefix(prefix, bits)) is not None}
    return [far for far, count in hops.items() if count == min(hops.values())] or ways
