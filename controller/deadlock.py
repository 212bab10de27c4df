# SPDX-License-Identifier: Apache-2.0
"""The channel dependency graph of routes, and the cycle in it if there is one (UB-Mesh, All-Path-Routing).

A channel is one VL of one direction of a link. A frame that holds a channel waits for the next one of its
path: routes can deadlock only when these waits close a circle.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

from controller.errors import DeadlockError, PlanError
from controller.paths import hops_of
from controller.plan import Path
from controller.turn_rules import CLASS_VLS, ENTRY_VLS, HOST, Direction, RuleSet, direction
from topologies import Fabric

__all__ = ["Channel", "DependencyGraph", "check", "dependencies", "find_cycle", "permitted"]


class Channel(NamedTuple):
    """One VL of a link in the direction that leads to the node `to`."""

    link: str
    to: str
    vl: int


@final
@dataclass(frozen=True, slots=True)
class DependencyGraph:
    """Channels in use, and for each those that a frame holding it may wait for."""

    waits: dict[Channel, frozenset[Channel]]

    @property
    def channels(self) -> int:
        return len(self.waits)

    @property
    def dependencies(self) -> int:
        return sum(len(following) for following in self.waits.values())


def dependencies(
    fabric: Fabric, paths: Iterable[Path], rules: RuleSet, *, entry_vls: Sequence[int] = ENTRY_VLS
) -> DependencyGraph:
    """The graph of these paths; PlanError names the first path with a turn that the rules do not allow."""
    hops = _Hops(fabric, rules)
    waits: dict[Channel, set[Channel]] = {}
    for path in paths:
        for entry_vl in entry_vls:
            came, vl, held = HOST, entry_vl, None
            for hop in hops_of(path):
                leaves, lanes = hops[hop]
                following = rules.next_vl(came, leaves, vl)
                if following is None:
                    raise PlanError(
                        f"path {' '.join(path)}: rules {rules.name} do not allow the turn at {hop[0]}",
                        remedy="leave the path out or choose other rules",
                    )
                channel = lanes[following]
                if channel not in waits:
                    waits[channel] = set()
                if held is not None:
                    waits[held].add(channel)
                came, vl, held = leaves, following, channel
    return _frozen(waits)


def permitted(
    fabric: Fabric, rules: RuleSet, *, entry_vls: Sequence[int] = ENTRY_VLS, u_turns: bool = True
) -> DependencyGraph:
    """The graph of every turn the rules allow, whatever steers a frame: no cycle here, none with any route.

    The tables cannot tell a frame that goes back where it came from, so U-turns belong to it; no simple
    path has any.
    """
    hops = _Hops(fabric, rules)
    waits: dict[Channel, set[Channel]] = {}
    fresh: list[tuple[tuple[str, str], int]] = []
    for hop, (_, lanes) in hops.items():
        for entry_vl in entry_vls:
            waits[lanes[entry_vl]] = set()
            fresh.append((hop, entry_vl))
    while fresh:
        (before, node), vl = fresh.pop()
        came, lanes = hops[before, node]
        for far in fabric.neighbours(node):
            if far == before and not u_turns:
                continue
            leaves, onward = hops[node, far]
            following = rules.next_vl(came, leaves, vl)
            if following is None:
                continue
            channel = onward[following]
            if channel not in waits:
                waits[channel] = set()
                fresh.append(((node, far), following))
            waits[lanes[vl]].add(channel)
    return _frozen(waits)


def find_cycle(graph: DependencyGraph) -> tuple[Channel, ...]:
    """Channels of one cycle in waiting order, the same one every time; empty when there is none."""
    waited_for = dict.fromkeys(graph.waits, 0)
    for following in graph.waits.values():
        for channel in following:
            waited_for[channel] += 1
    # Channels nobody waits for are in no cycle: take them away until none is left.
    free = [channel for channel, count in waited_for.items() if not count]
    for channel in free:
        for following in graph.waits[channel]:
            waited_for[following] -= 1
            if not waited_for[following]:
                free.append(following)
    held_by: dict[Channel, list[Channel]] = {channel: [] for channel, count in waited_for.items() if count}
    for channel in held_by:
        for following in graph.waits[channel]:
            held_by[following].append(channel)
    if not held_by:
        return ()
    # Every channel left is waited for by another one left: going back from any of them must repeat.
    trail: dict[Channel, int] = {}
    channel = min(held_by)
    while channel not in trail:
        trail[channel] = len(trail)
        channel = min(held_by[channel])
    return tuple(reversed(list(trail)[trail[channel] :]))


def check(graph: DependencyGraph, *, what: str = "these routes") -> None:
    """Raises DeadlockError naming a cycle when there is one."""
    cycle = find_cycle(graph)
    if cycle:
        shown = [f"{channel.link} to {channel.to} on VL {channel.vl}" for channel in cycle[:4]]
        more = [f"{len(cycle) - 4} more"] if len(cycle) > 4 else []
        raise DeadlockError(
            f"{what} can deadlock: {len(cycle)} channels wait in a circle: {', '.join(shown + more)}",
            cycle,
            remedy="use rules T2-G, or switch the check off to see it happen",
        )


class _Hops(dict[tuple[str, str], tuple[Direction, tuple[Channel, ...]]]):
    """Direction and channels of every hop of a fabric, looked up once."""

    def __init__(self, fabric: Fabric, rules: RuleSet) -> None:
        lanes = range(len(ENTRY_VLS) * CLASS_VLS)
        for link in fabric.links:
            for near, far in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                channels = tuple(Channel(link.name, far, vl) for vl in lanes)
                self[near, far] = direction(rules, fabric, near, far), channels


def _frozen(waits: dict[Channel, set[Channel]]) -> DependencyGraph:
    return DependencyGraph({channel: frozenset(following) for channel, following in waits.items()})
